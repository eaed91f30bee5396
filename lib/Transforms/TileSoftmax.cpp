//===- TileSoftmax.cpp - Body of softmax ----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Body of softmax over features. Loops over a row take 16 columns at a time (RowWalk.h), for the
// maximum, the sum and the quotients.

#include "ScoreWalk.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

LogicalResult heddle::tileSoftmax(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<SoftmaxOp>();
  if (!op)
    return f.def.emitOpError("expected a softmax that is yielded");
  kernel::ViewType in = f.viewType(f.viewOf(op.getInput()));
  int64_t size = in.getDims().back().extent.value, rows = f.plan.getRows();
  kernel::Size extent = in.getDim(0).extent;
  f.createFunc({extent}, {rows});
  Value i = f.func.getGridIndex(0), left = t.sub(f.sizeValue(extent), i);
  ScoreWalk walk(t, f.view(f.viewOf(op.getInput())), i, t.type(rows, 16), size);

  Value maximum = walk.maximum(), divisor = orOne(t, walk.sum(maximum));
  walk.overColumns(Value(), [&](Value, Value c) {
    storeResults(f, t.div(walk.power(c, maximum), divisor), {i, c}, left);
    return Value();
  });
  return success();
}
