//===- GpuElements.cpp - Predicates and lookups by element ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements GpuElements: it chooses the ops that need element loops and emits them.
#include "GpuEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using heddle::kernel::Fragment;
using heddle::kernel::LoadOp;
using heddle::kernel::LookupOp;
using heddle::kernel::MaskOp;
using heddle::kernel::MaskYieldOp;

namespace heddle {

/// Elements of a register outside of element loops. Inside them a register is a scalar.
static constexpr int64_t kLanes = 4;
static constexpr int64_t kWordBits = 32;

static RankedTensorType tileOf(Operation &op) {
  return op.getNumResults() == 1 ? dyn_cast<RankedTensorType>(op.getResult(0).getType())
                                 : RankedTensorType();
}

//===- Tiles that can be computed by element ----- -------------------------===//

bool GpuElements::holds(Value tile) const {
  if (auto found = known.find(tile); found != known.end())
    return found->second;
  Operation *op = tile.getDefiningOp();
  bool result = op && tileOf(*op) && !op->getNumRegions() && isMemoryEffectFree(op) &&
                !isa<kernel::ProductOpInterface, kernel::ReduceOp, kernel::GatherOp>(op) &&
                llvm::all_of(op->getOperands(), [&](Value operand) {
                  return !GpuEmitter::isTile(operand.getType()) || holds(operand);
                });
  known[tile] = result;
  return result;
}

/// Whether an op needs one load for each element of its tile.
static bool loadsElements(Operation &op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return !GpuMemory::hasVec4(cast<kernel::ViewType>(load.getView().getType()));
  return isa<LookupOp>(op);
}

bool GpuElements::takesPredicate(MaskOp op) const {
  constexpr int64_t longFormula = 24;
  Fragment shape = e.shapeOf(op.getType());
  if (e.at.byElement || !e.mapping->loopsOverElements() || shape.vectors * kLanes > kWordBits)
    return false;
  int64_t formula = 0;
  bool loads = false;
  Block &block = op.getPredicate().front();
  for (Operation &inner : block.without_terminator()) {
    RankedTensorType tile = tileOf(inner);
    bool isWhole = tile && tile.getShape() == op.getType().getShape();
    formula += isWhole;
    loads |= isWhole && loadsElements(inner);
  }
  return (loads || formula > longFormula) &&
         holds(cast<MaskYieldOp>(block.getTerminator()).getTruth());
}

bool GpuElements::takes(Operation &op) const {
  if (e.at.byElement || !e.mapping->loopsOverElements() || !loadsElements(op) ||
      !holds(op.getResult(0)))
    return false;
  Fragment shape = e.shapeOf(tileOf(op));
  return shape.size() * (shape.vectors ? kLanes : 1) > kLanes;
}

bool GpuElements::serves(Operation &op) const {
  if (e.at.byElement || !e.mapping->loopsOverElements() || op.use_empty() ||
      !holds(op.getResult(0)))
    return false;
  if (auto found = serving.find(&op); found != serving.end())
    return found->second;
  bool result = llvm::all_of(op.getUsers(), [&](Operation *user) {
    return user->getBlock() == op.getBlock() && tileOf(*user) && (takes(*user) || serves(*user));
  });
  serving[&op] = result;
  return result;
}

//===- Loops -------------------------------------------------------------===//

/// Emits a loop of `count` iterations. Its carried values are replaced by its results.
LogicalResult GpuElements::repeat(int64_t count, SmallVectorImpl<Value> &carried,
                                  function_ref<LogicalResult(Value)> step) {
  llvm::SaveAndRestore registers(e.fragments);
  LogicalResult emitted = success();
  e.loopOver(e.constant(0), e.constant(count), 1, carried,
             [&](Value index) { emitted = step(index); });
  return emitted;
}

/// Emits `body` for the element at `row` and at the context's column, so that a fragment is one
/// scalar. `row` is null if the tile has one row.
LogicalResult GpuElements::atElement(Value row, function_ref<LogicalResult()> body) {
  GpuContext inside{1, e.add(e.at.firstRow, row), e.at.runColumn, /*byElement=*/true,
                    e.at.elementColumn};
  llvm::SaveAndRestore context(e.at, inside);
  llvm::SaveAndRestore lanes(e.width, int64_t(1));
  llvm::SaveAndRestore outside(e.fragments, decltype(e.fragments)());
  return body();
}

static Value lanesOf(OpBuilder &builder, Location loc, ArrayRef<int32_t> lanes) {
  auto type = VectorType::get({kLanes}, builder.getI32Type());
  return arith::ConstantOp::create(builder, loc, DenseIntElementsAttr::get(type, lanes));
}

//===- Predicates --------------------------------------------------------===//

/// Returns the truth values of one row as bits, with column 0 in bit 0.
FailureOr<Value> GpuElements::truthsOfRow(MaskOp op, int64_t columns, Value row) {
  Block &block = op.getPredicate().front();
  Value truth = cast<MaskYieldOp>(block.getTerminator()).getTruth();
  SmallVector<Value> bits = {e.constant(0)};
  LogicalResult emitted = atElement(row, [&]() -> LogicalResult {
    for (Operation &inner : block.without_terminator()) // columns: once a row
      if (RankedTensorType tile = tileOf(inner);
          tile && tile.getDimSize(1) == 1 && holds(inner.getResult(0)))
        if (failed(e.use(inner.getResult(0))))
          return failure();
    return repeat(columns, bits, [&](Value column) -> LogicalResult {
      e.at.elementColumn = column;
      FailureOr<Fragment> one = e.use(truth);
      if (failed(one))
        return failure();
      Value bit = arith::ShLIOp::create(e.builder, e.loc, e.constant(1), column);
      bit = e.select(one->at(0, 0), bit, e.constant(0));
      bits[0] = e.bitOr(bits[0], bit);
      return success();
    });
  });
  return failed(emitted) ? FailureOr<Value>(failure()) : bits[0];
}

LogicalResult GpuElements::emitPredicate(MaskOp op, SmallVectorImpl<Value> &truth) {
  for (Operation &inner : op.getPredicate().front().without_terminator())
    if (!tileOf(inner) && failed(e.emitOps({&inner})))
      return failure();
  Fragment shape = e.shapeOf(op.getType());
  int64_t columns = shape.vectors * kLanes, rowsOfWord = kWordBits / columns;
  SmallVector<Value> words((shape.rows + rowsOfWord - 1) / rowsOfWord, e.constant(0));
  LogicalResult emitted = repeat(shape.rows, words, [&](Value row) -> LogicalResult {
    FailureOr<Value> bits = truthsOfRow(op, columns, row);
    if (failed(bits))
      return failure();
    for (auto [w, word] : llvm::enumerate(words)) {
      // Rows of other words contribute zero.
      Value place = e.sub(row, e.constant(w * rowsOfWord));
      Value here = e.compare(arith::CmpIPredicate::ult, place, e.constant(rowsOfWord));
      Value moved = arith::ShLIOp::create(e.builder, e.loc, *bits,
                                          e.select(here, e.mul(place, columns), e.constant(0)));
      moved = e.select(here, moved, e.constant(0));
      word = e.bitOr(word, moved);
    }
    return success();
  });
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t j = 0; j < shape.vectors; ++j) {
      SmallVector<int32_t> masks;
      for (int64_t lane = 0; lane < kLanes; ++lane)
        masks.push_back(int32_t(uint32_t(1) << (row % rowsOfWord * columns + j * kLanes + lane)));
      Value word =
          e.splat(words[row / rowsOfWord], VectorType::get({kLanes}, e.builder.getI32Type()));
      Value set = e.bitAnd(word, lanesOf(e.builder, e.loc, masks));
      truth.push_back(
          e.compare(arith::CmpIPredicate::ne, set, lanesOf(e.builder, e.loc, {0, 0, 0, 0})));
    }
  return emitted;
}

//===- Lookups outside of predicates --------------------------------------===//

/// Emits one row of an op's tile: its vec4s, or one scalar.
LogicalResult GpuElements::emitRowOf(Operation &op, Value row, SmallVectorImpl<Value> &registers) {
  Value tile = op.getResult(0);
  int64_t vectors = e.shapeOf(tile.getType()).vectors;
  return atElement(row, [&]() -> LogicalResult {
    auto step = [&](Value column) -> LogicalResult {
      e.at.elementColumn = column;
      if (failed(e.emitOp(op)))
        return failure();
      Value one = e.fragments[tile].at(0, 0);
      if (!column) {
        registers[0] = one;
        return success();
      }
      Value at = e.splat(column, VectorType::get({kLanes}, e.builder.getI32Type()));
      for (auto [j, vec4] : llvm::enumerate(registers)) {
        auto first = static_cast<int32_t>(j * kLanes);
        Value lanes = lanesOf(e.builder, e.loc, {first, first + 1, first + 2, first + 3});
        vec4 = e.select(e.compare(arith::CmpIPredicate::eq, at, lanes),
                        e.splat(one, vec4.getType()), vec4);
      }
      return success();
    };
    return vectors ? repeat(vectors * kLanes, registers, step) : step(Value());
  });
}

LogicalResult GpuElements::emit(Operation &op) {
  Value tile = op.getResult(0);
  Fragment result = e.shapeOf(tile.getType());
  Type type = e.registerType(getElementTypeOrSelf(tile.getType()), result.vectors);
  Value zero =
      arith::ConstantOp::create(e.builder, e.loc, cast<TypedAttr>(e.builder.getZeroAttr(type)));
  result.registers.assign(result.size(), zero);
  LogicalResult emitted = success();
  if (result.rows == 1)
    emitted = emitRowOf(op, Value(), result.registers);
  else
    emitted = repeat(result.rows, result.registers, [&](Value row) -> LogicalResult {
      SmallVector<Value> one(result.columns(), zero);
      if (failed(emitRowOf(op, row, one)))
        return failure();
      for (auto [i, place] : llvm::enumerate(result.registers)) {
        Value here = e.compare(arith::CmpIPredicate::eq, row, e.constant(i / result.columns()));
        if (result.vectors)
          here = e.splat(here, VectorType::get({kLanes}, e.builder.getI1Type()));
        place = e.select(here, one[i % result.columns()], place);
      }
      return success();
    });
  e.fragments[tile] = std::move(result);
  return emitted;
}

} // namespace heddle
