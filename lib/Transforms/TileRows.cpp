//===- TileRows.cpp - Bodies without a contraction ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies without a contraction: norms, embeddings with positions, sums and concatenation. Each body
// loads, computes and stores tiles of rows.

#include "Tilers.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::LoadOp;
using kernel::Root;
using kernel::Size;

Value heddle::yielded(KernelBuilder &f) { return yieldedValues(f.def).front(); }

static void storeResult(KernelBuilder &f, unsigned number, Value tile, ValueRange indices,
                        Value left) {
  unsigned i = f.firstResult() + number;
  kernel::StoreOp::create(f.t.b, f.t.loc, f.t.narrow(tile, f.viewType(i).getElementType()),
                          f.view(i), indices, left);
}

void heddle::storeResults(KernelBuilder &f, Value tile, ValueRange indices, Value left) {
  for (unsigned number = 0; number < f.def.getNumResults(); ++number)
    storeResult(f, number, tile, indices, left);
}

void heddle::storeValue(KernelBuilder &f, Value value, Value tile, ValueRange indices, Value left) {
  for (auto [number, yielded] : llvm::enumerate(yieldedValues(f.def)))
    if (yielded == value)
      storeResult(f, number, tile, indices, left);
}

void heddle::rowGrid(KernelBuilder &f, kernel::ViewType view, int64_t rows, int64_t columns,
                     int64_t storedColumns, Size rowExtent) {
  SmallVector<Size> sizes;
  SmallVector<int64_t> tiles;
  for (int64_t d = 0; d + 1 < view.getRank(); ++d) {
    bool isRow = d + 2 == view.getRank();
    sizes.push_back(isRow ? rowExtent : view.getDim(d).extent);
    tiles.push_back(isRow ? rows : 1);
  }
  if (columns) {
    sizes.push_back(storedColumns);
    tiles.push_back(columns);
  }
  f.createFunc(sizes, tiles);
}

//===- Layer normalization -----------------------------------------------===//

/// Mask of the columns of a tile before `size`, so that padding does not count; null: all columns.
static Value columnsBefore(TileBuilder &t, RankedTensorType type, int64_t size) {
  if (size == type.getDimSize(1))
    return {};
  RankedTensorType row = t.type(1, type.getDimSize(1), t.b.getI32Type());
  Value column = t.iota(/*rows=*/false, t.index(0), row);
  return t.broadcast(t.less(column, t.constantI(size, column)),
                     t.type(type.getDimSize(0), type.getDimSize(1), t.b.getI1Type()));
}

/// Rows of `size` features divided by their deviation (layer norm), root mean square, or length.
static Value normalized(TileBuilder &t, Operation *norm, Value x, int64_t size) {
  auto layer = dyn_cast<LayerNormOp>(norm);
  Value counted = columnsBefore(t, cast<RankedTensorType>(x.getType()), size);
  auto withoutPadding = [&](Value y) {
    return counted ? t.select(counted, y, t.constant(0, y)) : y;
  };
  x = withoutPadding(x);
  if (layer)
    x = withoutPadding(t.sub(x, t.mul(t.reduce(kernel::ReduceKind::Add, x), 1.0 / size)));
  Value square = t.reduce(kernel::ReduceKind::Add, t.mul(x, x));
  if (auto unit = dyn_cast<NormalizeOp>(norm)) {
    Value length = math::SqrtOp::create(t.b, t.loc, square);
    return t.div(x, t.max(length, t.constant(unit.getEpsilon().convertToDouble(), length)));
  }
  square = t.mul(square, 1.0 / size);
  llvm::APFloat epsilon = layer ? layer.getEpsilon() : cast<RmsNormOp>(norm).getEpsilon();
  Value divisor = t.add(square, t.constant(epsilon.convertToDouble(), square));
  if (!layer || layer.getRoot())
    divisor = math::SqrtOp::create(t.b, t.loc, divisor);
  return t.mul(x, t.div(t.constant(1, divisor), divisor));
}

LogicalResult heddle::tileNorm(KernelBuilder &f) {
  TileBuilder &t = f.t;
  Operation *norm = yielded(f).getDefiningOp();
  if (!isa_and_nonnull<LayerNormOp, RmsNormOp, NormalizeOp>(norm))
    return f.def.emitOpError("expected a layer_norm, rms_norm or normalize that is yielded");
  unsigned input = f.viewOf(norm->getOperand(0));
  kernel::ViewType in = f.viewType(input);
  int64_t size = in.getDims().back().extent.value, stored = padded(size), rows = f.plan.getRows();
  rowGrid(f, in, rows, 0, 0, in.getDim(in.getRank() - 2).extent);
  Value i = f.func.getGridIndex(in.getRank() - 2), zero = t.index(0);
  SmallVector<Value> points(
      llvm::map_range(llvm::seq<int64_t>(0, in.getRank() - 2),
                      [&](int64_t a) -> Value { return f.func.getGridIndex(a); }));
  RankedTensorType type = t.type(rows, stored);
  Value x = LoadOp::create(t.b, t.loc, type, f.slice(f.view(input), points), ValueRange{i, zero},
                           UnitAttr());
  Value y = normalized(t, norm, x, size);
  auto vector = [&](Value operand) -> Value {
    SmallVector<Value> place{zero};
    if (cast<ShapedType>(operand.getType()).getRank() == 2) // one row per head
      place.insert(place.begin(), points[1]);
    return LoadOp::create(t.b, t.loc, t.type(1, stored), f.view(f.viewOf(operand)), place,
                          UnitAttr());
  };
  if (norm->getNumOperands() > 1)
    y = t.mul(y, vector(norm->getOperand(1)));
  if (auto layer = dyn_cast<LayerNormOp>(norm))
    y = t.add(y, vector(layer.getBeta()));
  Value left = t.sub(f.sizeValue(in.getDim(in.getRank() - 2).extent), i);
  SmallVector<Value> indices(points);
  indices.append({i, zero});
  storeResults(f, y, indices, left);
  return success();
}

//===- Sums, embeddings, positions ---------------------------------------===//

FailureOr<Value> ValueTiles::of(Value value) {
  if (Value tile = known.lookup(value))
    return tile;
  if (isa<BlockArgument>(value))
    return load(matrix(value), i);
  if (auto op = value.getDefiningOp<TileableOpInterface>())
    return op.tileOf(*this);
  return f.def.emitOpError() << "expected sums, embeddings and positions, found "
                             << value.getDefiningOp()->getName();
}

Value ValueTiles::load(Value view, Value row) {
  return LoadOp::create(t.b, t.loc, t.type(rows, columns), view, ValueRange{row, j}, UnitAttr());
}

Value heddle::packedDocuments(KernelBuilder &f) {
  for (auto op : f.def.getBody().getOps<TransformerOpInterface>())
    if (Value starts = op.documentStarts())
      return starts;
  return {};
}

Value heddle::enterDocument(ValueTiles &tiles, Value starts, Value total) {
  TileBuilder &t = tiles.t;
  Value one = t.index(1), zero = t.index(0), size = t.index(tiles.rows);
  Value count =
      t.sub(tiles.f.sizeValue(cast<kernel::ViewType>(starts.getType()).getDim(0).extent), one);
  Value number = t.div(tiles.i, size);
  DocumentTile found = findDocument(t, starts, count, number, tiles.rows);
  auto start = [&](Value d) {
    return t.toIndex(kernel::ReadOp::create(t.b, t.loc, starts, ValueRange{d}));
  };
  tiles.document = found.document;
  Value first = start(found.document), end = start(t.add(found.document, one));
  Value row = t.add(first, t.mul(t.sub(number, found.first), size));
  Value spare = t.less(t.sub(end, one), row);
  tiles.position = t.select(spare, zero, t.sub(row, first));
  tiles.i = t.select(spare, t.max(t.sub(total, one), zero), row);
  return t.select(spare, zero, end);
}

LogicalResult heddle::tileElementwise(KernelBuilder &f) {
  kernel::ViewType out = f.viewType(f.firstResult());
  int64_t stored = padded(out.getDims().back().extent.value), rows = f.plan.getRows(),
          columns = f.plan.getColumns()[0], rowAxis = out.getRank() - 2;
  Size extent = out.getDim(rowAxis).extent;
  Value documents = packedDocuments(f);
  rowGrid(f, out, rows, columns, stored, documents ? f.slots(documents) : extent);
  SmallVector<Value> points;
  for (int64_t axis = 0; axis < rowAxis; ++axis)
    points.push_back(f.func.getGridIndex(axis));
  ValueTiles tiles(f, rows, columns, points, f.func.getGridIndex(rowAxis),
                   f.func.getGridIndex(rowAxis + 1));
  Value end = f.sizeValue(extent);
  if (documents)
    end = enterDocument(tiles, f.view(f.viewOf(documents)), end);
  FailureOr<Value> tile = tiles.of(yielded(f));
  if (failed(tile))
    return failure();
  points.append({tiles.i, tiles.j});
  storeResults(f, *tile, points, f.t.sub(end, tiles.i));
  return success();
}

Value heddle::firstPosition(KernelBuilder &f, Value offset, Value sequence, Value row) {
  if (!offset || !isa<ShapedType>(offset.getType())) // tables begin at an offset that all sequences
                                                     // share
    return row;
  return f.t.add(row, f.entryOf(f.viewOf(offset), sequence));
}

bool heddle::canFollowRows(Root root, ArrayRef<Operation *> before) {
  if (root == Root::Linear)
    return !has<SplitHeadsOp>(before);
  // A kernel's results cannot depend on each other.
  auto norm = dyn_cast<NormGradientOp>(before.front());
  if (root == Root::NormGradient)
    return norm && llvm::all_of(norm.getScaled().getUsers(),
                                [](Operation *user) { return user->getNumResults() == 0; });
  return root == Root::Elementwise;
}

FailureOr<std::pair<Value, Value>> heddle::tilesOfOperands(Operation *op, ValueTiles &tiles) {
  Value first = op->getOperand(0), second = op->getOperand(1);
  const bool isSwapped = isa<BlockArgument>(first) && !isa<BlockArgument>(second);
  if (isSwapped)
    std::swap(first, second);
  FailureOr<Value> x = tiles.of(first), y = failed(x) ? x : tiles.of(second);
  if (failed(y))
    return failure();
  return isSwapped ? std::pair(*y, *x) : std::pair(*x, *y);
}

namespace {
bool followsRows(Root root) { return root == Root::Embedding || root == Root::Elementwise; }

/// Model of an op that adds positions to rows.
template <typename Model, typename Op>
struct PositionModel : RowModel<Model, Op> {
  bool canFollow(Operation *, Root root, ArrayRef<Operation *>) const { return followsRows(root); }
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<Op>(operation);
    FailureOr<Value> x = tiles.of(op.getInput());
    if (failed(x))
      return failure();
    Value table = static_cast<const Model *>(this)->positions(op, tiles);
    double scale = op.getScale().convertToDouble();
    return tiles.t.add(*x, scale == 1 ? table : tiles.t.mul(table, scale));
  }
};

struct SinusoidalModel : PositionModel<SinusoidalModel, PositionSinusoidalOp> {
  Value positions(PositionSinusoidalOp op, ValueTiles &tiles) const {
    return tiles.load(tiles.f.tableOf(op),
                      firstPosition(tiles.f, op.getOffset(), tiles.points[0], tiles.position));
  }
};

struct LearnedModel : PositionModel<LearnedModel, PositionLearnedOp> {
  /// Gathers the rows one by one because, unlike sinusoids, a learned table has an end.
  Value positions(PositionLearnedOp op, ValueTiles &tiles) const {
    TileBuilder &t = tiles.t;
    Value first = firstPosition(tiles.f, op.getOffset(), tiles.points[0], tiles.position);
    Value numbers = t.iota(/*rows=*/true, first, t.type(tiles.rows, 1, t.b.getI32Type()));
    if (op.getOffset() && !isa<ShapedType>(op.getOffset().getType()))
      numbers = t.add(numbers, t.broadcast(tiles.f.scalar(op.getOffset()),
                                           cast<RankedTensorType>(numbers.getType())));
    return kernel::GatherOp::create(t.b, t.loc, t.type(tiles.rows, tiles.columns),
                                    tiles.f.view(tiles.f.viewOf(op.getTable())), numbers, tiles.j);
  }
};

/// Sums, and products of gated blocks.
template <typename Op>
struct BinaryModel : RowModel<BinaryModel<Op>, Op> {
  bool canFollow(Operation *, Root root, ArrayRef<Operation *> before) const {
    return canFollowRows(root, before);
  }
  LogicalResult checkSupported(Operation *op) const {
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (op->getParentOfType<MaskWhereOp>() || op->getParentOfType<BiasWhereOp>() ||
        (type && type.getElementType().isF32() && type.getRank() >= 2))
      return success();
    return op->emitOpError("expected tensors of f32 and rank 2 or more, found ")
           << op->getResult(0).getType() << ", which is not supported yet";
  }
  FailureOr<Value> tileOf(Operation *op, ValueTiles &tiles) const {
    FailureOr<std::pair<Value, Value>> both = tilesOfOperands(op, tiles);
    if (failed(both))
      return failure();
    auto [x, y] = *both;
    if (isa<BlockArgument>(op->getOperand(0)) && !isa<BlockArgument>(op->getOperand(1)))
      std::swap(x, y); // the computed tile is in registers, and the other is loaded next to it
    return std::is_same_v<Op, arith::AddFOp> ? tiles.t.add(x, y) : tiles.t.mul(x, y);
  }
  StringRef getNameWord(Operation *) const {
    return std::is_same_v<Op, arith::AddFOp> ? "add" : "mul";
  }
};

struct ScaleModel : ElementModel<ScaleModel, ScaleOp> {
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<ScaleOp>(operation);
    FailureOr<Value> x = tiles.of(op.getInput());
    return failed(x) ? x : tiles.t.mul(*x, op.getFactor().convertToDouble());
  }
  StringRef getNameWord(Operation *) const { return "scale"; }
};

struct ScaleRowsModel : ElementModel<ScaleRowsModel, ScaleRowsOp> {
  bool canFollow(Operation *op, Root root, ArrayRef<Operation *> before) const {
    return op->getOperand(0) == before.back()->getResult(0) &&
           op->getOperand(1) != op->getOperand(0) && ElementModel::canFollow(op, root, before);
  }
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<ScaleRowsOp>(operation);
    FailureOr<Value> x = tiles.of(op.getInput());
    if (failed(x))
      return failure();
    TileBuilder &t = tiles.t;
    Value factor = LoadOp::create(t.b, t.loc, t.type(tiles.rows, 1), tiles.matrix(op.getFactors()),
                                  ValueRange{tiles.i, t.index(0)}, UnitAttr());
    return t.mul(*x, factor);
  }
  StringRef getNameWord(Operation *) const { return "scale_rows"; }
};

/// cap * tanh(x / cap).
struct SoftcapModel : ElementModel<SoftcapModel, SoftcapOp> {
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<SoftcapOp>(operation);
    FailureOr<Value> x = tiles.of(op.getInput());
    if (failed(x))
      return failure();
    TileBuilder &t = tiles.t;
    Value cap = t.constant(op.getCap().convertToDouble(), *x);
    return t.mul(t.tanh(t.div(*x, cap)), cap);
  }
  StringRef getNameWord(Operation *) const { return "softcap"; }
};

/// Looks up each element in one operand or the other, because a tile may have rows of both.
struct ConcatModel : RowModel<ConcatModel, ConcatOp> {
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<ConcatOp>(operation);
    TileBuilder &t = tiles.t;
    RankedTensorType type = t.type(tiles.rows, tiles.columns, t.b.getI32Type());
    Value count = t.index(op.getFirst().getType().getDimSize(0));
    auto from = [&](Value view, Value row) -> Value {
      return kernel::LookupOp::create(
          t.b, t.loc, t.type(tiles.rows, tiles.columns), view,
          ValueRange{t.iota(/*rows=*/true, row, type), t.iota(/*rows=*/false, tiles.j, type)});
    };
    Value number = t.iota(/*rows=*/true, tiles.i, type);
    Value isFirst = t.less(number, t.broadcast(t.i32(count), type));
    return t.select(isFirst, from(tiles.f.view(tiles.f.viewOf(op.getFirst())), tiles.i),
                    from(tiles.matrix(op.getRows()), t.sub(tiles.i, count)));
  }
};

struct EmbeddingModel : RowModel<EmbeddingModel, EmbeddingOp, Root::Embedding> {
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto embedding = cast<EmbeddingOp>(operation);
    TileBuilder &t = tiles.t;
    Value ids =
        LoadOp::create(t.b, t.loc, t.type(tiles.rows, 1, t.b.getI32Type()),
                       tiles.matrix(embedding.getIds()), ValueRange{tiles.i}, t.b.getUnitAttr());
    Value tile =
        kernel::GatherOp::create(t.b, t.loc, t.type(tiles.rows, tiles.columns),
                                 tiles.f.view(tiles.f.viewOf(embedding.getTable())), ids, tiles.j);
    if (Value scales = embedding.getScales()) { // scales of rows are the first row
      Value first = t.constantI(0, ids);
      Value scaleOfRow =
          kernel::LookupOp::create(t.b, t.loc, t.type(tiles.rows, 1),
                                   tiles.f.view(tiles.f.viewOf(scales)), ValueRange{first, ids});
      tile = t.mul(tile, t.broadcast(scaleOfRow, t.type(tiles.rows, tiles.columns)));
    }
    double scale = embedding.getScale().convertToDouble();
    if (scale != 1)
      tile = t.mul(tile, scale);
    if (auto padding = embedding.getPaddingId()) {
      Value same = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, ids,
                                         t.constantI(static_cast<int64_t>(*padding), ids));
      tile = t.select(t.broadcast(same, t.type(tiles.rows, tiles.columns, t.b.getI1Type())),
                      t.constant(0, tile), tile);
    }
    return tile;
  }
};
} // namespace

void heddle::attachRowTilers(MLIRContext *context) {
  EmbeddingOp::attachInterface<EmbeddingModel>(*context);
  PositionSinusoidalOp::attachInterface<SinusoidalModel>(*context);
  PositionLearnedOp::attachInterface<LearnedModel>(*context);
  ConcatOp::attachInterface<ConcatModel>(*context);
  ScaleOp::attachInterface<ScaleModel>(*context);
  ScaleRowsOp::attachInterface<ScaleRowsModel>(*context);
  SoftcapOp::attachInterface<SoftcapModel>(*context);
}

void heddle::attachSumTilers(MLIRContext *context) {
  arith::AddFOp::attachInterface<BinaryModel<arith::AddFOp>>(*context);
  arith::MulFOp::attachInterface<BinaryModel<arith::MulFOp>>(*context);
}
