//===- DescribeGrid.cpp - The launch grid of a kernel -*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Axes as the runtime counts them: a scalar by a tile, or a number of tiles.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle::kernel;

static GridDescription describeAxis(FuncOp func, Size size, int64_t tile) {
  if (size.isStatic())
    return {-1, tile, static_cast<int64_t>(llvm::divideCeil(size.value, tile))};
  return {static_cast<int>(func.getScalarIndex(size.name)), tile, 1};
}

FailureOr<std::array<GridDescription, 3>> heddle::kernel::describeGrid(FuncOp func) {
  std::array<GridDescription, 3> grid;
  for (int64_t axis = 0; axis < func.getNumAxes(); ++axis)
    grid[axis] = describeAxis(func, func.getGridSize(axis), func.getGridTiles()[axis]);
  if (!func.hasParts())
    return grid;
  int64_t count = 0;
  for (PartOp part : func.getBody().getOps<PartOp>()) {
    GridDescription axis = describeAxis(func, part.getExtent(), part.getTile());
    if (axis.scalar >= 0)
      return part.emitOpError("expected a static size in a kernel of several parts");
    count += axis.count;
  }
  grid[func.getNumAxes()] = {-1, 1, count};
  return grid;
}
