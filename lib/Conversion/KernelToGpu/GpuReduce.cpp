//===- GpuReduce.cpp - Row reductions in workgroup memory -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row reductions in workgroup memory. Sums follow the order that the language fixes: sixteen lanes
// (column mod 16), each ascending, then lanes l and l + 8, l and l + 4, and so on. Maxima need no
// order.
//
//   blocked   the tile is staged, one invocation sums one row of it
//   strided   an invocation holds four lanes of its row; the four of a row exchange them, from level 1
//             on by shuffles. Then several teams of four may share a row: each loads a part of it and
//             hands over to the first, which sums.
#include "GpuAttention.h"
#include "GpuLoops.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using heddle::kernel::Fragment;
using heddle::kernel::ReduceKind;
using heddle::kernel::ReduceOp;

namespace heddle {

/// Identity of maxima: the lowest finite float, because some devices do not keep infinities.
static constexpr float kLowest = -0x1.fffffep+127f;
/// Virtual lanes of a sum, in vec4s: one in each invocation of a quad.
static constexpr int64_t kLaneVectors = quadInvocations;

namespace {
/// Emits reductions of blocked and strided tiles.
class RowReductions {
public:
  explicit RowReductions(GpuEmitter &emitter) : e(emitter), builder(e.builder), loc(e.loc) {}

  // Blocked tiles.
  Fragment maximaOfRows(const Fragment &tile);
  Fragment sumsOfRows(RankedTensorType type);

  // Strided tiles.
  SmallVector<Value> identities(ArrayRef<ReduceOp> reductions);
  LogicalResult emitLoopNestStep(ArrayRef<Operation *> run, SmallVectorImpl<Value> &lanes);
  Fragment finishLanes(ReduceKind kind, ArrayRef<Value> lanes);

private:
  Value sumOfStagedRow(Value row, int64_t columns);
  Value ofQuads(ReduceKind kind, Value lanes, Value own);
  Value exchanged(ReduceKind kind, Value lanes);
  Value shuffled(Value vec4, int64_t distance);
  Value ofFirstQuad(ReduceKind kind, Value number);

  GpuEmitter &e;
  OpBuilder &builder;
  Location loc;
};
} // namespace

//===- Blocked tiles -----------------------------------------------------===//

/// Every invocation reduces its columns; then all read the partial maxima of their rows.
Fragment RowReductions::maximaOfRows(const Fragment &tile) {
  int64_t entries = e.placement.invocations() * e.placement.rows;
  Type f32 = builder.getF32Type();
  auto place = [&](int64_t row, Value column) {
    return e.add(e.mul(e.add(e.stagedRow(), e.constant(row)), e.placement.tx), column);
  };
  e.workgroup.beforeWrite(SharedArray::Maxima);
  for (int64_t row = 0; row < tile.rows; ++row) {
    Value largest = tile.at(row, 0);
    for (int64_t j = 1; j < tile.vectors; ++j)
      largest = e.larger(largest, tile.at(row, j));
    e.workgroup.write(SharedArray::Maxima, f32, entries, place(row, e.tx),
                      e.reduceLanes(ReduceKind::Max, {largest}));
  }
  e.workgroup.barrier();
  Fragment result{{}, tile.rows, 0};
  for (int64_t row = 0; row < tile.rows; ++row) {
    Value largest;
    for (int64_t i = 0; i < e.placement.tx; ++i) {
      Value one = e.workgroup.read(SharedArray::Maxima, f32, entries, place(row, e.constant(i)));
      largest = largest ? e.larger(largest, one) : one;
    }
    result.registers.push_back(largest);
  }
  return result;
}

/// One invocation sums a whole row, because the order of a sum is fixed.
Value RowReductions::sumOfStagedRow(Value row, int64_t columns) {
  SmallVector<Value> lanes(kLaneVectors);
  for (int64_t vec4 = 0; vec4 < columns / e.width; ++vec4) {
    Value &lane = lanes[vec4 % kLaneVectors];
    Value next = e.workgroup.stagedVec4(columns, row, e.constant(vec4));
    lane = lane ? e.combine(ReduceKind::Add, lane, next) : next;
  }
  return e.reduceLanes(ReduceKind::Add, lanes);
}

/// Sums the staged tile: invocation i sums rows i, i + invocations, ...; then each reads the sums
/// of its own rows.
Fragment RowReductions::sumsOfRows(RankedTensorType type) {
  if (e.placement.teams > 1) // one row of each, which all of its team read
    return {{sumOfStagedRow(e.team, type.getDimSize(1))}, 1, 0};
  int64_t rows = type.getDimSize(0), invocations = e.placement.ty * e.placement.tx;
  Type f32 = builder.getF32Type();
  e.workgroup.beforeWrite(SharedArray::Sums);
  Value invocation = e.add(e.mul(e.ty, e.placement.tx), e.tx);
  for (int64_t first = 0; first < rows; first += invocations) {
    Value row = e.add(invocation, e.constant(first));
    bool isWhole = first + invocations <= rows;
    Value exists = isWhole ? Value() : e.compare(arith::CmpIPredicate::slt, row, e.constant(rows));
    e.onlyIf(exists, [&] {
      e.workgroup.write(SharedArray::Sums, f32, rows, row, sumOfStagedRow(row, type.getDimSize(1)));
    });
  }
  e.workgroup.barrier();
  Fragment result{{}, e.placement.rows, 0};
  for (int64_t row = 0; row < e.placement.rows; ++row)
    result.registers.push_back(
        e.workgroup.read(SharedArray::Sums, f32, rows, e.add(e.rowBase(), e.constant(row))));
  return result;
}

LogicalResult GpuEmitter::emitReduce(ReduceOp op) {
  auto type = cast<RankedTensorType>(op.getOperand().getType());
  if (placement.isMatrixAttention() && type.getDimSize(1) > 1) {
    FailureOr<Fragment> reduced = attention->emitReduce(op);
    if (failed(reduced))
      return failure();
    fragments[op.getResult()] = std::move(*reduced);
    return success();
  }
  if (placement.isStrided() || ownsRows() || type.getDimSize(1) == 1)
    return BodyEmitter::emitReduce(op);
  if (type.getDimSize(1) % 16 != 0 || type.getDimSize(0) != placement.ty * placement.rows)
    return op.emitOpError("expected a tile of ")
           << placement.ty * placement.rows << " rows and a multiple of 16 columns, found " << type;
  if (op.getKind() == ReduceKind::Max) {
    FailureOr<Fragment> tile = use(op.getOperand());
    if (failed(tile))
      return tile;
    fragments[op.getResult()] = RowReductions(*this).maximaOfRows(*tile);
    return success();
  }
  if (LogicalResult staged = workgroup.stage(op.getOperand()); failed(staged))
    return staged;
  fragments[op.getResult()] = RowReductions(*this).sumsOfRows(type);
  return success();
}

//===- Column loops over strided tiles -----------------------------------===//

/// Initial lanes: one vec4 for each row of each reduction.
SmallVector<Value> RowReductions::identities(ArrayRef<ReduceOp> reductions) {
  SmallVector<Value> lanes;
  for (ReduceOp op : reductions) {
    float identity = op.getKind() == ReduceKind::Max ? kLowest : 0.0f;
    Value vec4 =
        arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(e.vec4Type(), identity));
    lanes.append(e.shapeOf(op.getType()).rows, vec4);
  }
  return lanes;
}

/// The number of the invocation whose place in the subgroup differs from one's own by `distance`.
static Value shuffledNumber(OpBuilder &builder, Location loc, Value number, Value distance) {
  auto subgroup = spirv::ScopeAttr::get(builder.getContext(), spirv::Scope::Subgroup);
  return spirv::GroupNonUniformShuffleXorOp::create(builder, loc, number.getType(), subgroup,
                                                    number, distance);
}

Value RowReductions::shuffled(Value vec4, int64_t distance) {
  SmallVector<Value> others;
  for (int64_t lane = 0; lane < e.width; ++lane)
    others.push_back(shuffledNumber(
        builder, loc, vector::ExtractOp::create(builder, loc, vec4, lane), e.constant(distance)));
  return vector::FromElementsOp::create(builder, loc, e.vec4Type(), others);
}

/// Lanes with the next columns, `own` of this quad. The first quad takes those of the others behind its
/// own, in the order of columns; what other quads sum is not used. Maxima have no order.
Value RowReductions::ofQuads(ReduceKind kind, Value lanes, Value own) {
  lanes = e.combine(kind, lanes, own);
  if (kind == ReduceKind::Add)
    for (int64_t distance = kLaneVectors; distance < e.placement.tx; distance += kLaneVectors)
      lanes = e.combine(kind, lanes, shuffled(own, distance));
  return lanes;
}

/// The four lanes of each of a row's invocations, reduced by the first two steps of the tree: the
/// neighbours two and one further on stand in for lanes l + 8 and l + 4, and sums commute. Maxima of
/// quads come first.
Value RowReductions::exchanged(ReduceKind kind, Value lanes) {
  int64_t distance = kind == ReduceKind::Max ? e.placement.tx / 2 : kLaneVectors / 2;
  for (; distance > 0; distance /= 2)
    lanes = e.combine(kind, lanes, shuffled(lanes, distance));
  return lanes;
}

/// The first quad's sum, in all of a row's invocations; all have the same maximum.
Value RowReductions::ofFirstQuad(ReduceKind kind, Value number) {
  if (kind == ReduceKind::Max)
    return number;
  for (int64_t distance = kLaneVectors; distance < e.placement.tx; distance *= 2) {
    Value bit = arith::AndIOp::create(builder, loc, e.tx, e.constant(distance));
    Value isBehind = e.compare(arith::CmpIPredicate::ne, bit, e.constant(0));
    number = arith::SelectOp::create(
        builder, loc, isBehind, shuffledNumber(builder, loc, number, e.constant(distance)), number);
  }
  return number;
}

/// Exchanges lanes among the four invocations of a row; each then reduces them by the same tree.
Fragment RowReductions::finishLanes(ReduceKind kind, ArrayRef<Value> lanes) {
  if (e.target.level >= 1) {
    Fragment result{{}, static_cast<int64_t>(lanes.size()), 0};
    for (Value own : lanes)
      result.registers.push_back(ofFirstQuad(kind, e.reduceLanes(kind, {exchanged(kind, own)})));
    return result;
  }
  int64_t entries = e.placement.ty * e.placement.rows * kLaneVectors;
  auto place = [&](int64_t row, Value vec4) {
    return e.add(e.mul(e.add(e.rowBase(), e.constant(row)), kLaneVectors), vec4);
  };
  e.workgroup.beforeWrite(SharedArray::Lanes);
  for (auto [row, vec4] : llvm::enumerate(lanes))
    e.workgroup.write(SharedArray::Lanes, e.vec4Type(), entries, place(row, e.tx), vec4);
  e.workgroup.barrier();
  Fragment result{{}, static_cast<int64_t>(lanes.size()), 0};
  for (size_t row = 0; row < lanes.size(); ++row) {
    SmallVector<Value> vec4s;
    for (int64_t i = 0; i < kLaneVectors; ++i)
      vec4s.push_back(
          e.workgroup.read(SharedArray::Lanes, e.vec4Type(), entries, place(row, e.constant(i))));
    result.registers.push_back(e.reduceLanes(kind, vec4s));
  }
  return result;
}

/// Emits the ops of a nest at the current columns; reductions accumulate in their lanes.
LogicalResult RowReductions::emitLoopNestStep(ArrayRef<Operation *> run,
                                              SmallVectorImpl<Value> &lanes) {
  Value *lane = lanes.begin();
  for (Operation *op : run) {
    auto reduction = dyn_cast<ReduceOp>(op);
    if (!reduction) {
      if (LogicalResult emitted = e.emitOp(*op); failed(emitted))
        return emitted;
      continue;
    }
    FailureOr<Fragment> tile = e.use(reduction.getOperand());
    if (failed(tile))
      return tile;
    for (int64_t row = 0; row < tile->rows; ++row, ++lane)
      for (int64_t j = 0; j < tile->vectors; ++j)
        *lane = ofQuads(reduction.getKind(), *lane, tile->at(row, j));
  }
  return success();
}

/// A column loop that carries the lanes of its reductions; invocations exchange them behind it.
LogicalResult GpuEmitter::emitLoopNest(ArrayRef<Operation *> run) {
  SmallVector<ReduceOp> reductions;
  int64_t columns = 0;
  for (Operation *op : run) {
    if (auto reduction = dyn_cast<ReduceOp>(op))
      reductions.push_back(reduction);
    if (!isa<ReduceOp, kernel::StoreOp>(op))
      return op->emitOpError("expected an op that is computed column by column");
    columns = columnsOf(op->getOperand(0).getType());
  }
  if (!reductions.empty() && target.level == 0 && placement.tx != kLaneVectors)
    return run.front()->emitOpError("expected ")
           << kLaneVectors << " invocations a row at level 0, found " << placement.tx;
  int64_t step = fragmentVectors(columns) * width * placement.tx;
  if (columns % step != 0)
    return run.front()->emitOpError("expected a multiple of ")
           << step << " columns, found " << columns;
  RowReductions reduce(*this);
  SmallVector<Value> carried = reduce.identities(reductions);
  LogicalResult emitted = success();
  loopOver(constant(0), constant(columns), step, carried, [&](Value index) {
    builder.getInsertionBlock()->getParentOp()->setAttr(kRolled, builder.getUnitAttr());
    llvm::SaveAndRestore registers(fragments);
    llvm::SaveAndRestore column(at.runColumn, index);
    emitted = reduce.emitLoopNestStep(run, carried);
  });
  if (failed(emitted))
    return emitted;
  ArrayRef<Value> lanes = carried;
  for (ReduceOp op : reductions) {
    int64_t rows = shapeOf(op.getType()).rows;
    fragments[op.getResult()] =
        reduce.finishLanes(op.getKind(), SmallVector<Value>(lanes.take_front(rows)));
    lanes = lanes.drop_front(rows);
  }
  return success();
}

} // namespace heddle
