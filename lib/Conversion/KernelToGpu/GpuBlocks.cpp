//===- GpuBlocks.cpp - Products by blocks that are loaded ahead -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GpuBlocks.h"

#include "GpuLoops.h"

using namespace mlir;

namespace heddle {

int64_t sumBlocks(GpuEmitter &e, int64_t steps, int64_t block, const BlockSteps &does,
                  BlockSteps::Registers &sums) {
  using Registers = BlockSteps::Registers;
  const int64_t ahead = does.fetchesLate ? 1 : e.placement.ahead, turn = ahead * block,
                whole = steps / turn * turn;
  if (!whole)
    return 0;
  Registers carried(sums);
  for (int64_t i = 0; i < ahead; ++i)
    does.fetch(e.constant(i * block), carried);
  const size_t loads = (carried.size() - sums.size()) / ahead;
  e.loopOver(e.constant(0), e.constant(whole), turn, carried, [&](Value turnsFirst) {
    if (does.staysRolled)
      e.builder.getInsertionBlock()->getParentOp()->setAttr(kRolled, e.builder.getUnitAttr());
    Registers inside(ArrayRef<Value>(carried).take_front(sums.size())), next;
    for (int64_t i = 0; i < ahead; ++i) {
      Value first = e.add(turnsFirst, e.constant(i * block));
      does.store(ArrayRef<Value>(carried).slice(sums.size() + i * loads, loads), inside);
      auto fetchNext = [&] {
        Value following = e.add(first, e.constant(turn));
        does.fetch(e.minimum(following, e.constant(whole - block)), next);
      };
      if (!does.fetchesLate)
        fetchNext();
      does.multiply(first, inside);
      if (does.fetchesLate)
        fetchNext();
    }
    carried = std::move(inside);
    llvm::append_range(carried, next);
  });
  sums.assign(carried.begin(), carried.begin() + sums.size());
  return whole;
}

} // namespace heddle
