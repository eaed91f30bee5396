//===- TilePool.cpp - Body of a pooling -----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of pooling and of its gradient. A grid point sums the rows of one sequence or document in
// order, for a strip of columns, so the bits of a result do not depend on other sequences. Several
// poolings are adjacent without padding: a strip may cross the end of one, so its columns are
// gathered. In the gradient, a grid point stores the rows of one sequence, for a strip of columns.

#include "Tiling.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

namespace {
/// Rows [first, end) of the matrix `rows`.
struct RowRange {
  Value rows, first, end;
};
} // namespace

/// Rows of sequence or document n that count.
template <typename Op>
static RowRange rowsOf(KernelBuilder &f, Op pool, Value n) {
  TileBuilder &t = f.t;
  Value zero = t.index(0), input = f.view(f.viewOf(pool.getInput()));
  auto read = [&](Value vector, Value at) {
    return t.toIndex(kernel::ReadOp::create(t.b, t.loc, f.view(f.viewOf(vector)), ValueRange{at}));
  };
  if (Value starts = pool.getDocuments())
    return {f.slice(input, {zero}), read(starts, n), read(starts, t.add(n, t.index(1)))};
  Value matrix = f.slice(input, {n});
  if (Value lengths = pool.getLengths())
    return {matrix, zero, read(lengths, n)};
  return {matrix, zero, f.sizeValue(f.viewType(f.viewOf(pool.getInput())).getDim(1).extent)};
}

static Value constantTile(TileBuilder &t, RankedTensorType type, float value) {
  return arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(type, value));
}

/// Pools the rows of the range to one row; an empty range results in zeros.
static Value pooled(TileBuilder &t, Pooling kind, RowRange range, RankedTensorType type,
                    llvm::function_ref<Value(Value)> load) {
  Value one = t.index(1);
  if (kind == Pooling::Cls)
    range.end = t.min(range.end, t.add(range.first, one));
  if (kind == Pooling::Last)
    range.first = t.max(range.first, t.sub(range.end, one));
  Value rows = t.max(t.sub(range.end, range.first), t.index(0));
  auto number = [&](Value count) -> Value { // at least 1, because the sum of an empty range is also
                                            // divided
    return arith::SIToFPOp::create(t.b, t.loc, t.b.getF32Type(), t.i32(t.max(count, one)));
  };
  auto over = [&](Value sum, Value count) { return t.div(sum, t.broadcast(number(count), type)); };
  switch (kind) {
  case Pooling::Cls:
  case Pooling::Last:
    return t.sum(range.first, range.end, type, load);
  case Pooling::Mean:
    return over(t.sumOfMany(range.first, range.end, type, load), rows);
  case Pooling::Sum:
    return t.sumOfMany(range.first, range.end, type, load);
  case Pooling::MeanSqrt: {
    Value sum = t.sumOfMany(range.first, range.end, type, load);
    return t.div(sum, math::SqrtOp::create(t.b, t.loc, t.broadcast(number(rows), type)));
  }
  case Pooling::Max: {
    Value lowest = constantTile(t, type, -std::numeric_limits<float>::infinity());
    Value most = t.foldMany(
        range.first, range.end, lowest, [&](Value x, Value y) { return t.max(x, y); }, load);
    Value any = t.broadcast(t.less(t.index(0), rows), type.clone(t.b.getI1Type()));
    return t.select(any, most, constantTile(t, type, 0));
  }
  case Pooling::WeightedMean: {
    auto weighted = [&](Value row) {
      Value weight = t.i32(t.add(t.sub(row, range.first), one));
      Value factor = arith::SIToFPOp::create(t.b, t.loc, t.b.getF32Type(), weight);
      return t.mul(load(row), t.broadcast(factor, type));
    };
    Value weights = t.div(t.mul(rows, t.add(rows, one)), t.index(2));
    return over(t.sumOfMany(range.first, range.end, type, weighted), weights);
  }
  }
  llvm_unreachable("all poolings are handled");
}

/// Poolings of the columns starting at `j`: column c is feature c mod E of kind c / E.
static Value sideBySide(TileBuilder &t, ArrayRef<Pooling> kinds, int64_t features,
                        const RowRange &range, RankedTensorType type, Value j) {
  Value column = t.iota(/*rows=*/false, j, type.clone(t.b.getI32Type()));
  Value result = constantTile(t, type, 0);
  for (auto [k, kind] : llvm::enumerate(kinds)) {
    auto first = static_cast<int64_t>(k) * features;
    Value feature = t.sub(column, t.constantI(first, column));
    auto load = [&](Value row) -> Value { // 0 outside the features
      Value rows = t.broadcast(t.i32(row), type.clone(t.b.getI32Type()));
      return kernel::LookupOp::create(t.b, t.loc, type, range.rows, ValueRange{rows, feature});
    };
    Value inside = arith::AndIOp::create(t.b, t.loc, t.less(t.constantI(-1, feature), feature),
                                         t.less(feature, t.constantI(features, feature)));
    result = t.select(inside, pooled(t, kind, range, type, load), result);
  }
  return result;
}

LogicalResult heddle::tilePool(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto pool = yielded(f).getDefiningOp<PoolOp>();
  if (!pool)
    return f.def.emitOpError("expected a pool that is yielded");
  kernel::ViewType out = f.viewType(f.firstResult());
  int64_t stored = padded(out.getDims().back().extent.value);
  int64_t columns = f.plan.getColumns()[0];
  f.createFunc({out.getDim(0).extent, stored}, {1, columns});
  Value n = f.func.getGridIndex(0), j = f.func.getGridIndex(1), one = t.index(1);
  RowRange range = rowsOf(f, pool, n);
  RankedTensorType type = t.type(1, columns);
  SmallVector<Pooling> kinds;
  for (auto kind : pool.getKinds().getAsRange<PoolingAttr>())
    kinds.push_back(kind.getValue());
  if (kinds.size() > 1) {
    int64_t features = pool.getInput().getType().getShape().back();
    storeResults(f, sideBySide(t, kinds, features, range, type, j), {n, j}, one);
    return success();
  }
  auto load = [&](Value row) -> Value {
    return kernel::LoadOp::create(t.b, t.loc, type, range.rows, ValueRange{row, j}, UnitAttr());
  };
  storeResults(f, pooled(t, kinds.front(), range, type, load), {n, j}, one);
  return success();
}

//===- The gradient ------------------------------------------------------===//

namespace {
/// Gradients of the rows of one sequence or document, for a strip of columns.
class PoolGradient {
public:
  PoolGradient(KernelBuilder &f, PoolGradientOp op, Value n, Value j, RankedTensorType type)
      : f(f), t(f.t), op(op), n(n), j(j), type(type), range(rowsOf(f, op, n)),
        count(t.max(t.sub(range.end, range.first), t.index(0))) {}
  void store();

private:
  /// The gradient of a row, from its number within the sequence.
  using OfRow = std::function<Value(Value)>;
  OfRow gradientOf(size_t number, Pooling kind);
  OfRow atRow(Value chosen, Value gradient);
  OfRow atLargest(Value gradient);
  Value pooledGradient(size_t number);
  Value over(Value gradient, Value divisor);
  void forEachRow(Value first, Value end, llvm::function_ref<Value(Value)> gradient);

  Value asFloats(Value number) {
    Value floats = arith::SIToFPOp::create(t.b, t.loc, t.b.getF32Type(), t.i32(number));
    return t.broadcast(floats, type);
  }

  KernelBuilder &f;
  TileBuilder &t;
  PoolGradientOp op;
  Value n, j;
  RankedTensorType type;
  RowRange range;
  Value count; ///< number of rows
};
} // namespace

/// The gradient of pooling `number` of the sequence.
Value PoolGradient::pooledGradient(size_t number) {
  Value view = f.view(f.viewOf(op.getGradient()));
  int64_t features = op.getInput().getType().getShape().back();
  Value column = t.add(j, t.index(static_cast<int64_t>(number) * features));
  if (op.getKinds().size() == 1 || features % 16 == 0)
    return kernel::LoadOp::create(t.b, t.loc, type, view, ValueRange{n, column}, UnitAttr());
  auto indices = type.clone(t.b.getI32Type());
  return kernel::LookupOp::create(
      t.b, t.loc, type, view,
      ValueRange{t.broadcast(t.i32(n), indices), t.iota(/*rows=*/false, column, indices)});
}

/// Divides by a number of rows, which is at least 1 because the gradient of an empty sequence is
/// not stored.
Value PoolGradient::over(Value gradient, Value divisor) {
  return t.div(gradient, asFloats(t.max(divisor, t.index(1))));
}

PoolGradient::OfRow PoolGradient::atRow(Value chosen, Value gradient) {
  return [this, chosen, gradient](Value row) -> Value {
    Value same = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, row, chosen);
    return t.select(t.broadcast(same, type.clone(t.b.getI1Type())), gradient,
                    constantTile(t, type, 0));
  };
}

/// Row numbers are compared as f32, which is exact up to 2^24 rows.
PoolGradient::OfRow PoolGradient::atLargest(Value gradient) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  auto load = [&](Value row) -> Value {
    return kernel::LoadOp::create(t.b, t.loc, type, range.rows, ValueRange{row, j}, UnitAttr());
  };
  auto equal = [this](Value x, Value y) -> Value {
    return arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, x, y);
  };
  Value most = t.foldMany(
      range.first, range.end, constantTile(t, type, -infinity),
      [&](Value x, Value y) { return t.max(x, y); }, load);
  Value none = constantTile(t, type, infinity);
  Value chosen = t.foldMany(
      range.first, range.end, none, [&](Value x, Value y) { return t.min(x, y); },
      [&](Value row) {
        return t.select(equal(load(row), most), asFloats(t.sub(row, range.first)), none);
      });
  return [this, equal, chosen, gradient](Value row) -> Value {
    return t.select(equal(chosen, asFloats(row)), gradient, constantTile(t, type, 0));
  };
}

PoolGradient::OfRow PoolGradient::gradientOf(size_t number, Pooling kind) {
  Value gradient = pooledGradient(number), one = t.index(1);
  auto alike = [](Value tile) { return [tile](Value) { return tile; }; };
  switch (kind) {
  case Pooling::Cls:
    return atRow(t.index(0), gradient);
  case Pooling::Last:
    return atRow(t.sub(count, one), gradient);
  case Pooling::Max:
    return atLargest(gradient);
  case Pooling::Sum:
    return alike(gradient);
  case Pooling::Mean:
    return alike(over(gradient, count));
  case Pooling::MeanSqrt: {
    Value root = math::SqrtOp::create(t.b, t.loc, asFloats(t.max(count, one)));
    return alike(t.div(gradient, root));
  }
  case Pooling::WeightedMean: {
    Value shared = over(gradient, t.div(t.mul(count, t.add(count, one)), t.index(2)));
    return [this, shared, one](Value row) { return t.mul(shared, asFloats(t.add(row, one))); };
  }
  }
  llvm_unreachable("all poolings are handled");
}

/// Stores `gradient` of each row in [first, end).
void PoolGradient::forEachRow(Value first, Value end, llvm::function_ref<Value(Value)> gradient) {
  auto loop = scf::ForOp::create(t.b, t.loc, first, end, t.index(1));
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  storeResults(f, gradient(row), {op.getDocuments() ? t.index(0) : n, row, j}, t.index(1));
}

void PoolGradient::store() {
  SmallVector<OfRow> gradients;
  for (auto [number, kind] : llvm::enumerate(op.getKinds().getAsRange<PoolingAttr>()))
    gradients.push_back(gradientOf(number, kind.getValue()));
  forEachRow(range.first, range.end, [&](Value row) {
    Value inSequence = t.sub(row, range.first), sum = gradients.front()(inSequence);
    for (const OfRow &next : ArrayRef(gradients).drop_front())
      sum = t.add(sum, next(inSequence));
    return sum;
  });
  if (op.getLengths()) // rows that do not count
    forEachRow(range.end, f.sizeValue(f.viewTypeOf(op.getInput()).getDim(1).extent),
               [&](Value) { return constantTile(t, type, 0); });
}

LogicalResult heddle::tilePoolGradient(KernelBuilder &f) {
  auto op = yielded(f).getDefiningOp<PoolGradientOp>();
  if (!op)
    return f.def.emitOpError("expected a pool.gradient that is yielded");
  kernel::ViewType of = f.viewTypeOf(op.getGradient()), out = f.viewType(f.firstResult());
  int64_t stored = padded(out.getDims().back().extent.value), columns = f.plan.getColumns()[0];
  f.createFunc({of.getDim(0).extent, stored}, {1, columns});
  Value n = f.func.getGridIndex(0), j = f.func.getGridIndex(1);
  PoolGradient(f, op, n, j, f.t.type(1, columns)).store();
  return success();
}
