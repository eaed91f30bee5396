//===- GpuBlocks.cpp - Products by blocks that are loaded ahead -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GpuBlocks.h"

#include "GpuLoops.h"

#include <numeric>

using namespace mlir;
using namespace heddle;
using Registers = BlockSteps::Registers;

/// Emits the write of a block to the buffer that follows from its number.
static void writeBlock(GpuEmitter &e, int64_t number, const KBlock &now, const BlockSteps &does,
                       ArrayRef<Value> loaded) {
  const int64_t buffers = e.placement.buffers;
  e.workgroup.useBuffer(number % buffers);
  if (buffers == 1)
    does.waitForReaders();
  does.store(now, loaded);
  e.workgroup.barrier();
}

/// Returns the number of blocks in an iteration of the loop. No block in flight moves to other
/// registers, and each block of an iteration has its own buffer in all iterations.
static int64_t blocksOfTurn(const GpuEmitter &e) {
  return std::lcm(e.placement.ahead, e.placement.buffers);
}

/// Sums blocks in a loop.
static void sumInLoop(GpuEmitter &e, int64_t whole, int64_t block, const BlockSteps &does,
                      Registers &sums) {
  const int64_t ahead = e.placement.ahead, blocks = blocksOfTurn(e);
  Registers carried(sums);
  for (int64_t i = 0; i < ahead; ++i)
    does.fetch({e.constant(i * block), block}, carried);
  const size_t loads = (carried.size() - sums.size()) / ahead;
  e.loopOver(e.constant(0), e.constant(whole), blocks * block, carried, [&](Value turn) {
    if (does.staysRolled)
      e.markLoop(kRolled);
    Registers inside(ArrayRef<Value>(carried).take_front(sums.size())),
        inFlight(ArrayRef<Value>(carried).drop_front(sums.size()));
    for (int64_t i = 0; i < blocks; ++i) {
      const KBlock now{e.add(turn, e.constant(i * block)), block};
      const Registers loaded(ArrayRef<Value>(inFlight).slice(i * loads, loads));
      writeBlock(e, i, now, does, loaded);
      auto fetchNext = [&] {
        Value following = e.add(now.first, e.constant(ahead * block));
        does.fetch({e.minimum(following, e.constant(whole - block)), block}, inFlight);
      };
      if (!does.fetchesLate)
        fetchNext();
      does.multiply(now, inside);
      if (does.fetchesLate)
        fetchNext();
    }
    carried = std::move(inside);
    llvm::append_range(carried, ArrayRef<Value>(inFlight).drop_front(blocks * loads));
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
  int64_t number = 0;
  for (auto &[now, loaded] : rest) {
    writeBlock(e, number++, now, does, loaded);
    does.multiply(now, sums);
  }
}

void heddle::sumBlocks(GpuEmitter &e, int64_t all, int64_t whole, int64_t block,
                       const BlockSteps &does, Registers &sums) {
  const int64_t turn = blocksOfTurn(e) * block;
  assert(turn > 0 && "a plan has positive blocks and buffers, and blocks in flight");
  const int64_t inLoop = whole / turn * turn;
  if (e.placement.buffers > 1) // others may still read the blocks of an earlier product
    e.workgroup.barrier();
  if (inLoop)
    sumInLoop(e, inLoop, block, does, sums);
  sumRest(e, inLoop, all, block, does, sums);
  e.workgroup.useBuffer(0);
}
