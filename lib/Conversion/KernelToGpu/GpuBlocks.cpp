//===- GpuBlocks.cpp - Products by blocks that are loaded ahead -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GpuBlocks.h"

#include "GpuLoops.h"

using namespace mlir;
using namespace heddle;
using Registers = BlockSteps::Registers;

/// Sums blocks in a loop. An iteration multiplies all blocks in flight, so that no block moves to
/// other registers.
static void sumInLoop(GpuEmitter &e, int64_t whole, int64_t block, const BlockSteps &does,
                      Registers &sums) {
  const int64_t ahead = e.placement.ahead;
  Registers carried(sums);
  for (int64_t i = 0; i < ahead; ++i)
    does.fetch({e.constant(i * block), block}, carried);
  const size_t loads = (carried.size() - sums.size()) / ahead;
  e.loopOver(e.constant(0), e.constant(whole), ahead * block, carried, [&](Value turn) {
    if (does.staysRolled)
      e.markLoop(kRolled);
    Registers inside(ArrayRef<Value>(carried).take_front(sums.size())), next;
    for (int64_t i = 0; i < ahead; ++i) {
      const KBlock now{e.add(turn, e.constant(i * block)), block};
      does.store(now, ArrayRef<Value>(carried).slice(sums.size() + i * loads, loads), inside);
      auto fetchNext = [&] {
        Value following = e.add(now.first, e.constant(ahead * block));
        does.fetch({e.minimum(following, e.constant(whole - block)), block}, next);
      };
      if (!does.fetchesLate)
        fetchNext();
      does.multiply(now, inside);
      if (does.fetchesLate)
        fetchNext();
    }
    carried = std::move(inside);
    llvm::append_range(carried, next);
  });
  sums.assign(carried.begin(), carried.begin() + sums.size());
}

/// Sums the blocks after the loop. All of them are loaded before the first is multiplied.
static void sumRest(GpuEmitter &e, int64_t from, int64_t all, int64_t block, const BlockSteps &does,
                    Registers &sums) {
  SmallVector<std::pair<KBlock, Registers>> rest;
  for (int64_t first = from; first < all; first += block) {
    const int64_t steps = std::min(block, all - first);
    auto &[now, loaded] = rest.emplace_back(
        KBlock{e.constant(first), steps, /*isLast=*/first + steps == all}, Registers());
    does.fetch(now, loaded);
  }
  for (auto &[now, loaded] : rest) {
    does.store(now, loaded, sums);
    does.multiply(now, sums);
  }
}

void heddle::sumBlocks(GpuEmitter &e, int64_t all, int64_t whole, int64_t block,
                       const BlockSteps &does, Registers &sums) {
  const int64_t turn = e.placement.ahead * block, inLoop = whole / turn * turn;
  if (inLoop)
    sumInLoop(e, inLoop, block, does, sums);
  sumRest(e, inLoop, all, block, does, sums);
}
