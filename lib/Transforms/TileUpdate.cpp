//===- TileUpdate.cpp - Bodies of an optimizer ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of the ops that read and clear the gradients of all weights. They treat the memory of a
// range of weights as one matrix, since its padding is 0 before and after each step.

#include "Tilers.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::LoadOp;
using kernel::Root;

/// Creates the grid over the matrices of twins, which all have the extents of the first result.
static std::pair<Value, Value> twinGrid(KernelBuilder &f) {
  kernel::ViewType twin = f.viewType(f.firstResult());
  f.createFunc({twin.getDim(0).extent, twin.getDim(1).extent},
               {f.plan.getRows(), f.plan.getColumns()[0]});
  return {f.func.getGridIndex(0), f.func.getGridIndex(1)};
}

/// A step of Adam. Results are the weights, both moments and the gradients.
static LogicalResult tileOptimizer(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = *f.def.getBody().front().getOps<OptimizerOp>().begin();
  auto [i, j] = twinGrid(f);
  RankedTensorType type = t.type(f.plan.getRows(), f.plan.getColumns()[0]);
  const unsigned first = f.firstResult();
  Value scalars = f.view(f.viewOf(op.getScalars()));
  auto scalar = [&](int64_t index) {
    return t.broadcast(kernel::ReadOp::create(t.b, t.loc, scalars, ValueRange{t.index(index)}),
                       type);
  };
  auto load = [&, i = i, j = j](unsigned result) -> Value {
    return LoadOp::create(t.b, t.loc, type, f.view(first + result), ValueRange{i, j}, UnitAttr());
  };
  Value left = t.sub(f.sizeValue(f.viewType(first).getDim(0).extent), i);
  auto store = [&, i = i, j = j](unsigned result, Value tile) {
    kernel::StoreOp::create(t.b, t.loc, tile, f.view(first + result), ValueRange{i, j}, left);
  };
  Value rate = scalar(0), a1 = scalar(1), b2 = scalar(2), a2 = scalar(3), c1 = scalar(4),
        c2 = scalar(5), epsilon = scalar(6), scale = scalar(8);
  Value p = load(0), m = load(1), v = load(2), g = t.mul(load(3), scale);
  m = t.fma(a1, t.sub(g, m), m);
  v = t.fma(a2, t.mul(g, g), t.mul(b2, v));
  Value root = math::SqrtOp::create(t.b, t.loc, v);
  Value step = t.div(t.mul(m, c1), t.add(t.mul(root, c2), epsilon));
  if (op.getRange() != WeightRange::Vectors)
    step = t.add(step, t.mul(scalar(7), p));
  store(0, t.sub(p, t.mul(rate, step)));
  store(1, m);
  store(2, v);
  store(3, t.constant(0, g));
  return success();
}

/// Adds an accumulator, the second result, to that of the first use.
static LogicalResult tileGradientJoin(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto [i, j] = twinGrid(f);
  RankedTensorType type = t.type(f.plan.getRows(), f.plan.getColumns()[0]);
  Value left = t.sub(f.sizeValue(f.viewType(f.firstResult()).getDim(0).extent), i);
  SmallVector<Value> tiles;
  for (unsigned use : {0, 1})
    tiles.push_back(LoadOp::create(t.b, t.loc, type, f.view(f.firstResult() + use),
                                   ValueRange{i, j}, UnitAttr()));
  Value sums[] = {t.add(tiles[0], tiles[1]), t.constant(0, tiles[1])};
  for (unsigned use : {0, 1})
    kernel::StoreOp::create(t.b, t.loc, sums[use], f.view(f.firstResult() + use), ValueRange{i, j},
                            left);
  return success();
}

/// One grid point sums all squares: rows of 16 lanes in blocks, and blocks in order.
static LogicalResult tileGradientNorm(KernelBuilder &f) {
  constexpr int64_t rowsOfBlock = 64, laneColumns = 16;
  TileBuilder &t = f.t;
  const unsigned gradients = f.firstResult(), result = gradients + 1;
  const int64_t columns = f.viewType(gradients).getDim(1).extent.value;
  f.createFunc({1}, {1});
  RankedTensorType lanes = t.type(1, 16), one = t.type(1, 1);
  Value rows = f.sizeValue(f.viewType(gradients).getDim(0).extent);
  auto zeros = [&](RankedTensorType type) -> Value {
    return arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(type, 0.0F));
  };
  auto add = [&](Value x, Value y) { return t.add(x, y); };
  Value sum = t.fold(
      t.index(0), rows, zeros(one), add,
      [&](Value block) {
        Value end = t.min(rows, t.add(block, t.index(rowsOfBlock)));
        auto addSquares = [&](Value sum, Value row) {
          for (int64_t column = 0; column < columns; column += laneColumns) {
            Value x = LoadOp::create(t.b, t.loc, lanes, f.view(gradients),
                                     ValueRange{row, t.index(column)}, UnitAttr());
            sum = t.add(sum, t.mul(x, x));
          }
          return sum;
        };
        Value squares = t.fold(block, end, zeros(lanes), addSquares, [](Value row) { return row; });
        return t.reduce(kernel::ReduceKind::Add, squares);
      },
      rowsOfBlock);
  kernel::StoreVectorOp::create(t.b, t.loc, sum, f.view(result), t.index(0), t.index(1));
  return success();
}

void heddle::attachUpdateTilers(MLIRContext *c) {
  attach<OptimizerOp, Root::Update, tileOptimizer>(c);
  attach<GradientJoinOp, Root::GradientJoin, tileGradientJoin>(c);
  attach<GradientNormOp, Root::GradientNorm, tileGradientNorm>(c);
}
