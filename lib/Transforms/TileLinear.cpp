//===- TileLinear.cpp - The bodies of linear layers -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   contract -> + bias -> activation -> + residual -> store as rows, heads or panels of keys,
//   rounded, or both
//
// Several linears over the same rows are parts of one kernel. What follows a
// linear is computed op by op on its tiles (TileableOpInterface). Kernels that
// store heads have a grid over sequences and their rows, others over all rows.

#include "Tilers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::Root;
using kernel::Size;

namespace {

/// One value of the definition, made around a linear.
struct Part {
  Value yielded; ///< before it is rounded
  LinearOp linear;
  SmallVector<unsigned> results; ///< where it is stored
  bool heads = false;
};

class LinearTiler {
public:
  explicit LinearTiler(KernelBuilder &f) : f(f), t(f.t) {}
  LogicalResult run();

private:
  LogicalResult collect(unsigned result, Value yielded);
  LogicalResult body(const Part &part, Value j, int64_t columns);
  void store(const Part &part, Value tile, Value j);
  int64_t tileColumns();

  KernelBuilder &f;
  TileBuilder &t;
  SmallVector<Part> parts;
  SmallVector<Value> points; ///< leading grid indices
  Value i;
};

} // namespace

/// The linear that a value is made around; of several the first.
static LinearOp linearBehind(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<LinearOp>(op))
    return dyn_cast_or_null<LinearOp>(op);
  for (Value operand : op->getOperands())
    if (LinearOp linear = linearBehind(operand))
      return linear;
  return {};
}

LogicalResult LinearTiler::collect(unsigned result, Value yielded) {
  Value value = beforeRounding(yielded);
  auto known = llvm::find_if(parts, [&](const Part &part) { return part.yielded == value; });
  if (known != parts.end()) {
    known->results.push_back(result);
    return success();
  }
  bool heads = cast<ShapedType>(value.getType()).getRank() == 4;
  parts.push_back({value, linearBehind(value), {result}, heads});
  if (parts.back().linear)
    return success();
  return f.def.emitOpError() << "expected a linear behind result " << result;
}

/// Columns of the weight as stored: a multiple of 16.
static int64_t storedColumns(KernelBuilder &f, LinearOp linear) {
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
  if (single)
    return body(parts[0], f.func.getGridIndex(rowAxis + 1), columns);
  for (const Part &part : parts) {
    auto op = kernel::PartOp::create(t.b, t.loc, Size(storedColumns(f, part.linear)), columns);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(&op.getBody().front());
    if (failed(body(part, op.getIndex(), columns)))
      return failure();
  }
  return success();
}

LogicalResult LinearTiler::body(const Part &part, Value j, int64_t columns) {
  ValueTiles tiles(f, f.sizes.linearRows, columns, points, i, j);
  FailureOr<Value> tile = tiles.of(part.yielded);
  if (succeeded(tile))
    store(part, *tile, j);
  return tile;
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

LogicalResult heddle::tileLinear(KernelBuilder &frame) { return LinearTiler(frame).run(); }

//===- Models ------------------------------------------------------------===//

namespace {
struct LinearModel : Tiler<LinearModel, LinearOp, Root::Linear, tileLinear> {
  FailureOr<Value> tileOf(Operation *op, ValueTiles &tiles) const {
    auto linear = cast<LinearOp>(op);
    TileBuilder &t = tiles.t;
    Value tile = tileProduct(tiles, linear);
    if (Value bias = linear.getBias())
      tile = t.add(tile, kernel::LoadOp::create(t.b, t.loc, t.type(1, tiles.columns),
                                                tiles.f.view(tiles.f.viewOf(bias)),
                                                ValueRange{tiles.j}, UnitAttr()));
    return t.activation(linear.getActivation(), tile,
                        TileBuilder::accuracyBeside(linear.getFormat().rows));
  }
  StringRef getNameWord(Operation *op) const {
    Activation activation = cast<LinearOp>(op).getActivation();
    return activation == Activation::None ? "" : stringifyActivation(activation);
  }
};

/// Heads are columns; a tile lies in one.
struct SplitHeadsModel : Tiler<SplitHeadsModel, SplitHeadsOp, Root::Relayout, tileRelayout> {
  bool canFollow(Operation *, Root root, ArrayRef<Operation *> before) const {
    return root == Root::Linear && !has<arith::TruncFOp>(before);
  }
  FailureOr<Value> tileOf(Operation *op, ValueTiles &tiles) const {
    return tiles.of(op->getOperand(0));
  }
  StringRef getNameWord(Operation *) const { return "heads"; }
};
} // namespace

void heddle::attachLinearTilers(MLIRContext *context) {
  LinearOp::attachInterface<LinearModel>(*context);
  SplitHeadsOp::attachInterface<SplitHeadsModel>(*context);
}
