//===- Strided.cpp - Every n-th vec4 of a row -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mapping `strided` of bodies without products: each of the n invocations of a row has every
// n-th vec4. Wide tiles are computed by loops over columns, which recompute their operands
// because loads hit the cache.
//
// A row's sum has sixteen lanes (column mod 16), four in each of four invocations. A lane adds its
// columns in ascending order; then lanes l and l + 8 are added, l and l + 4, and so on. From level
// 1 on, invocations exchange lanes by shuffles, and several groups of four may share a row: each
// loads a part of it, and the first sums.

#include "GpuMapping.h"

#include "../GpuEmitter.h"
#include "../GpuLoops.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using heddle::kernel::Fragment;
using heddle::kernel::ReduceKind;
using heddle::kernel::ReduceOp;

namespace heddle {

/// Identity of maxima: the lowest finite float, because some devices do not keep infinities.
static constexpr float kLowest = -0x1.fffffep+127f;

namespace {
class Strided : public GpuMapping {
public:
  using GpuMapping::GpuMapping;

  int64_t vectorsOf(int64_t tileColumns) const override;
  int64_t columnOf(int64_t number) const override { return number * e.width * e.placement.tx; }
  Value firstColumn(int64_t) override { return e.add(e.at.runColumn, e.mul(e.tx, e.width)); }
  LogicalResult emitReduce(ReduceOp op) override { return e.reduceFragment(op); }
  LogicalResult emitLoop(scf::ForOp op) override;
  LogicalResult emitColumnLoop(ArrayRef<Operation *> run) override;
  bool holdsTiles() const override { return false; }
  bool loopsOverElements() const override { return false; }

protected:
  int64_t activeColumns(int64_t) const override { return e.placement.tx; }
};

/// Reductions in a loop over columns. The loop carries their lanes.
class LaneReductions {
public:
  explicit LaneReductions(GpuEmitter &emitter) : e(emitter), builder(e.builder), loc(e.loc) {}

  SmallVector<Value> identities(ArrayRef<ReduceOp> reductions);
  LogicalResult emitLoopNestStep(ArrayRef<Operation *> run, SmallVectorImpl<Value> &lanes);
  Fragment finishLanes(ReduceKind kind, ArrayRef<Value> lanes);

private:
  Value accumulated(ReduceKind kind, Value lanes, Value own);
  Value exchanged(ReduceKind kind, Value lanes);
  Value ofFirstGroup(ReduceKind kind, Value number);

  GpuEmitter &e;
  OpBuilder &builder;
  Location loc;
};
} // namespace

/// Long rows that several groups share have more loads in flight. Short rows need few steps, and
/// fewer registers let more rows run concurrently.
int64_t Strided::vectorsOf(int64_t tileColumns) const {
  constexpr int64_t shortRow = 1024, longRow = 2048;
  const int64_t tx = e.placement.tx;
  int64_t vectors = tx == 4 ? 4 : tileColumns < shortRow ? 2 : tileColumns < longRow ? 4 : 8;
  while (vectors > 1 && tileColumns % (vectors * e.width * tx) != 0)
    vectors /= 2;
  return vectors;
}

//===- Lanes --------------------------------------------------------------===//

static Value splat(GpuEmitter &e, float number) {
  return arith::ConstantOp::create(e.builder, e.loc, DenseElementsAttr::get(e.vec4Type(), number));
}

Value zeroLanes(GpuEmitter &emitter) { return splat(emitter, 0.0f); }
Value lowestLanes(GpuEmitter &emitter) { return splat(emitter, kLowest); }

/// Initial lanes: one vec4 for each row of each reduction.
SmallVector<Value> LaneReductions::identities(ArrayRef<ReduceOp> reductions) {
  SmallVector<Value> lanes;
  for (ReduceOp op : reductions)
    lanes.append(e.shapeOf(op.getType()).rows,
                 op.getKind() == ReduceKind::Max ? lowestLanes(e) : zeroLanes(e));
  return lanes;
}

/// Returns `number` of the invocation whose index in the subgroup is this one's xor `distance`.
static Value shuffledNumber(OpBuilder &builder, Location loc, Value number, Value distance) {
  auto subgroup = spirv::ScopeAttr::get(builder.getContext(), spirv::Scope::Subgroup);
  return spirv::GroupNonUniformShuffleXorOp::create(builder, loc, number.getType(), subgroup,
                                                    number, distance);
}

Value shuffledLanes(GpuEmitter &e, Value vec4, int64_t distance) {
  SmallVector<Value> others;
  for (int64_t lane = 0; lane < e.width; ++lane)
    others.push_back(shuffledNumber(e.builder, e.loc, e.extract(vec4, lane), e.constant(distance)));
  return e.vectorOf(others);
}

Value exchangedLanes(GpuEmitter &e, ReduceKind kind, Value lanes) {
  for (int64_t distance = kLaneVectors / 2; distance > 0; distance /= 2)
    lanes = e.combine(kind, lanes, shuffledLanes(e, lanes, distance));
  return lanes;
}

/// Accumulates the next columns: `own`, and for sums the columns of the row's other groups after
/// them. Only the sums of the first group, which adds columns in ascending order, are used. Groups
/// compute maxima separately, since maxima have no order.
Value LaneReductions::accumulated(ReduceKind kind, Value lanes, Value own) {
  lanes = e.combine(kind, lanes, own);
  if (kind == ReduceKind::Add)
    for (int64_t distance = kLaneVectors; distance < e.placement.tx; distance += kLaneVectors)
      lanes = e.combine(kind, lanes, shuffledLanes(e, own, distance));
  return lanes;
}

/// Reduces lanes across a row's invocations: invocations at distance two and one have lanes l + 8
/// and l + 4. Maxima of groups are combined first.
Value LaneReductions::exchanged(ReduceKind kind, Value lanes) {
  if (kind == ReduceKind::Max)
    for (int64_t distance = e.placement.tx / 2; distance >= kLaneVectors; distance /= 2)
      lanes = e.combine(kind, lanes, shuffledLanes(e, lanes, distance));
  return exchangedLanes(e, kind, lanes);
}

/// Broadcasts the first group's sum to a row's invocations, which already share the maximum.
Value LaneReductions::ofFirstGroup(ReduceKind kind, Value number) {
  if (kind == ReduceKind::Max)
    return number;
  for (int64_t distance = kLaneVectors; distance < e.placement.tx; distance *= 2) {
    Value bit = e.masked(e.tx, distance);
    Value isUpperHalf = e.compare(arith::CmpIPredicate::ne, bit, e.constant(0));
    number =
        arith::SelectOp::create(builder, loc, isUpperHalf,
                                shuffledNumber(builder, loc, number, e.constant(distance)), number);
  }
  return number;
}

/// Exchanges lanes among the invocations of a row; each then reduces them by the same tree.
Fragment LaneReductions::finishLanes(ReduceKind kind, ArrayRef<Value> lanes) {
  if (e.target.level >= 1) {
    Fragment result{{}, static_cast<int64_t>(lanes.size()), 0};
    for (Value own : lanes)
      result.registers.push_back(ofFirstGroup(kind, e.reduceLanes(kind, {exchanged(kind, own)})));
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

/// Emits the ops of a column loop at the current columns; reductions accumulate in their lanes.
LogicalResult LaneReductions::emitLoopNestStep(ArrayRef<Operation *> run,
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
        *lane = accumulated(reduction.getKind(), *lane, tile->at(row, j));
  }
  return success();
}

/// Emits a column loop that carries the lanes of its reductions and exchanges them after it.
LogicalResult Strided::emitColumnLoop(ArrayRef<Operation *> run) {
  SmallVector<ReduceOp> reductions;
  int64_t columns = 0;
  for (Operation *op : run) {
    if (auto reduction = dyn_cast<ReduceOp>(op))
      reductions.push_back(reduction);
    if (!isa<ReduceOp, kernel::StoreOpInterface>(op))
      return op->emitOpError("expected an op that is computed column by column");
    columns = GpuEmitter::columnsOf(op->getOperand(0).getType());
  }
  if (!reductions.empty() && e.target.level == 0 && e.placement.tx != kLaneVectors)
    return run.front()->emitOpError("expected ")
           << kLaneVectors << " invocations a row at level 0, found " << e.placement.tx;
  int64_t step = vectorsOf(columns) * e.width * e.placement.tx;
  if (columns % step != 0)
    return run.front()->emitOpError("expected a multiple of ")
           << step << " columns, found " << columns;
  LaneReductions reduce(e);
  SmallVector<Value> carried = reduce.identities(reductions);
  LogicalResult emitted = success();
  e.loopOver(e.constant(0), e.constant(columns), step, carried, [&](Value index) {
    e.markLoop(kRolled);
    llvm::SaveAndRestore registers(e.fragments);
    llvm::SaveAndRestore column(e.at.runColumn, index);
    emitted = reduce.emitLoopNestStep(run, carried);
  });
  if (failed(emitted))
    return emitted;
  ArrayRef<Value> lanes = carried;
  for (ReduceOp op : reductions) {
    int64_t rows = e.shapeOf(op.getType()).rows;
    e.fragments[op.getResult()] =
        reduce.finishLanes(op.getKind(), SmallVector<Value>(lanes.take_front(rows)));
    lanes = lanes.drop_front(rows);
  }
  return success();
}

/// A loop of the body is over the rows or columns of a matrix. A driver that unrolls it loads all of
/// them before it adds, and has no registers for them.
LogicalResult Strided::emitLoop(scf::ForOp op) {
  if (failed(GpuMapping::emitLoop(op)))
    return failure();
  auto loop = cast<scf::ForOp>(*std::prev(builder.getInsertionPoint()));
  loop->setAttr(kRolled, builder.getUnitAttr());
  return success();
}

std::unique_ptr<GpuMapping> makeStrided(GpuEmitter &emitter) {
  return std::make_unique<Strided>(emitter);
}

} // namespace heddle
