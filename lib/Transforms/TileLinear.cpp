//===- TileLinear.cpp - The bodies of linear layers -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   contract -> + bias -> activation -> + residual -> store as rows, heads or panels of keys,
//   rounded, or both
//
// Several linears over the same rows are parts of one kernel. Kernels that
// store heads have a grid over sentences and their rows, others over all rows.

#include "Tiling.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::Size;

namespace {

/// One linear of the definition and what follows it.
struct Part {
  LinearOp linear;
  Value yielded;                 ///< before it is rounded
  SmallVector<unsigned> results; ///< where it is stored
  SmallVector<arith::AddFOp> residuals;
  bool heads = false;
};

class LinearTiler {
public:
  explicit LinearTiler(KernelFrame &f) : f(f), t(f.t) {}
  LogicalResult run();

private:
  LogicalResult collect(unsigned result, Value yielded);
  void body(const Part &part, Value j, int64_t columns);
  Value loadRows(unsigned view, Value j, RankedTensorType type);
  void store(const Part &part, Value tile, Value j);
  Value product(LinearOp linear, Value j, RankedTensorType type);
  int64_t tileColumns();

  KernelFrame &f;
  TileBuilder &t;
  SmallVector<Part> parts;
  SmallVector<Value> points; ///< leading grid indices
  Value i;
};

} // namespace

LogicalResult LinearTiler::collect(unsigned result, Value yielded) {
  Value value = beforeRounding(yielded);
  for (Part &known : parts)
    if (known.yielded == value)
      return known.results.push_back(result), success();
  Part part;
  part.yielded = value;
  part.results = {result};
  if (auto split = value.getDefiningOp<SplitHeadsOp>()) {
    part.heads = true;
    value = split->getOperand(0);
  }
  while (auto add = value.getDefiningOp<arith::AddFOp>()) {
    part.residuals.insert(part.residuals.begin(), add);
    bool left = isa_and_nonnull<arith::AddFOp, LinearOp>(add.getLhs().getDefiningOp());
    value = left ? add.getLhs() : add.getRhs();
  }
  part.linear = value.getDefiningOp<LinearOp>();
  if (!part.linear)
    return f.def.emitOpError() << "expected a linear behind result " << result;
  parts.push_back(part);
  return success();
}

/// Columns of the weight as stored: a multiple of 16.
static int64_t storedColumns(KernelFrame &f, LinearOp linear) {
  return padded(f.viewType(f.viewOf(linear.getWeight())).getDim(0).extent.value);
}

/// The widest tile that divides every part's columns, and its heads.
int64_t LinearTiler::tileColumns() {
  for (int64_t tile : f.sizes.linearColumns)
    if (llvm::all_of(parts, [&](const Part &part) {
          int64_t unit =
              part.heads
                  ? padded(
                        f.viewType(f.firstResult() + part.results[0]).getDims().back().extent.value)
                  : storedColumns(f, part.linear);
          return unit % tile == 0;
        }))
      return tile;
  return 16;
}

LogicalResult LinearTiler::run() {
  for (auto [index, value] :
       llvm::enumerate(f.def.getBody().front().getTerminator()->getOperands()))
    if (failed(collect(index, value)))
      return failure();
  kernel::ViewType input = f.viewType(f.viewOf(parts[0].linear.getInput()));
  SmallVector<Size> sizes;
  SmallVector<int64_t> tiles;
  for (int64_t d = 0; d + 1 < input.getRank(); ++d) {
    sizes.push_back(input.getDim(d).extent);
    tiles.push_back(d + 2 < input.getRank() ? 1 : f.sizes.linearRows);
  }
  int64_t columns = tileColumns();
  bool single = parts.size() == 1;
  if (single) {
    sizes.push_back(storedColumns(f, parts[0].linear));
    tiles.push_back(columns);
  }
  f.createFunc(sizes, tiles);
  int64_t rowAxis = input.getRank() - 2;
  for (int64_t axis = 0; axis < rowAxis; ++axis)
    points.push_back(f.func.getGridIndex(axis));
  i = f.func.getGridIndex(rowAxis);
  if (single) {
    body(parts[0], f.func.getGridIndex(rowAxis + 1), columns);
    return success();
  }
  for (const Part &part : parts) {
    auto op = kernel::PartOp::create(t.b, t.loc, Size(storedColumns(f, part.linear)), columns);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(&op.getBody().front());
    body(part, op.getIndex(), columns);
  }
  return success();
}

/// A tile of a tensor with the same rows as the result.
Value LinearTiler::loadRows(unsigned view, Value j, RankedTensorType type) {
  return kernel::LoadOp::create(t.b, t.loc, type, f.slice(f.view(view), points), ValueRange{i, j},
                                UnitAttr());
}

/// Rows times columns; of codes of bytes the sum is an integer. Scales make it a number.
Value LinearTiler::product(LinearOp linear, Value j, RankedTensorType type) {
  Value rows = f.slice(f.view(f.viewOf(linear.getInput())), points);
  Type sums = linear.takesCodes() ? type.clone(t.b.getI32Type()) : type;
  Value tile = kernel::ContractOp::create(t.b, t.loc, sums, rows, i,
                                          f.view(f.viewOf(linear.getWeight())), j);
  return linear.getInputScales() ? scaledSums(f, linear, tile, points, i, j) : tile;
}

void LinearTiler::body(const Part &part, Value j, int64_t columns) {
  LinearOp linear = part.linear;
  RankedTensorType type = t.type(f.sizes.linearRows, columns);
  Value tile = product(linear, j, type);
  if (Value bias = linear.getBias())
    tile = t.add(tile, kernel::LoadOp::create(t.b, t.loc, t.type(1, columns),
                                              f.view(f.viewOf(bias)), ValueRange{j}, UnitAttr()));
  Type element = linear.getInput().getType().getElementType();
  tile = t.activation(linear.getActivation(), tile,
                      element.isF32() || element.isF16() ? TileBuilder::Accuracy::F32
                                                         : TileBuilder::Accuracy::EightBits);
  Value before = linear.getResult();
  for (arith::AddFOp add : part.residuals) {
    Value other = add.getLhs() == before ? add.getRhs() : add.getLhs();
    before = add.getResult();
    tile = t.add(tile, loadRows(f.viewOf(other), j, type));
  }
  store(part, tile, j);
}

void LinearTiler::store(const Part &part, Value tile, Value j) {
  LinearOp linear = part.linear;
  kernel::ViewType input = f.viewType(f.viewOf(linear.getInput()));
  Value left = t.sub(f.sizeValue(input.getDim(input.getRank() - 2).extent), i);
  for (unsigned number : part.results) {
    unsigned result = f.firstResult() + number;
    SmallVector<Value> indices(points);
    if (!part.heads) {
      indices.append({i, j});
    } else {
      // Columns of heads: head j / D, column j mod D; a tile lies in one head.
      Value size = t.index(padded(f.viewType(result).getDims().back().extent.value));
      Value base = f.storeBase(number);
      indices.append(
          {t.div(j, size), base ? t.add(i, base) : i, arith::RemUIOp::create(t.b, t.loc, j, size)});
    }
    Value stored = t.narrow(tile, f.viewType(result).getElementType());
    kernel::StoreOp::create(t.b, t.loc, stored, f.view(result), indices, left);
  }
}

LogicalResult heddle::tileLinear(KernelFrame &frame) { return LinearTiler(frame).run(); }
