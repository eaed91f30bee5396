//===- GpuMasks.cpp - Predicates and tables of one invocation --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element that is looked up is a load of its own. An invocation has 64 of them
// for each table, and drivers take minutes over all of them written out. So they
// stand once, in loops over the invocation's rows and columns:
//
//   %word = scf.for %r = 0 to 4 iter_args(%w) {
//     %row = scf.for %c = 0 to 8 iter_args(%b) {
//       %t = …                                   the predicate of one element, on scalars
//       yield %b | (%t ? 1 << %c : 0)
//     }
//     yield %w | %row << 8 * %r
//   }
//   element (3, 0) is allowed where %word & 1 << 24 is not 0
//
// Numbers that are looked up, for a bias, are put in their place in the registers.
#include "GpuEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::Fragment;
using heddle::kernel::LoadOp;
using heddle::kernel::LookupOp;
using heddle::kernel::MaskOp;
using heddle::kernel::MaskYieldOp;

namespace heddle {

/// Elements of a register outside of these loops; inside them it is a scalar.
static constexpr int64_t kLanes = 4;
static constexpr int64_t kWordBits = 32;

static RankedTensorType tileOf(Operation &op) {
  return op.getNumResults() == 1 ? dyn_cast<RankedTensorType>(op.getResult(0).getType())
                                 : RankedTensorType();
}

//===- What can be computed an element at a time -------------------------===//

/// Whether any element of the tile can be computed by itself: a tree of ops that do nothing else.
bool GpuEmitter::isOfElements(Value tile) const {
  if (auto known = ofElements.find(tile); known != ofElements.end())
    return known->second;
  Operation *op = tile.getDefiningOp();
  bool result = op && tileOf(*op) && !op->getNumRegions() && isMemoryEffectFree(op) &&
                !isa<kernel::ContractOp, kernel::ReduceOp, kernel::GatherOp>(op) &&
                llvm::all_of(op->getOperands(), [&](Value operand) {
                  return !isTile(operand.getType()) || isOfElements(operand);
                });
  ofElements[tile] = result;
  return result;
}

/// Whether an op loads each element of its tile by itself.
static bool loadsElements(Operation &op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return !GpuEmitter::hasQuads(cast<kernel::ViewType>(load.getView().getType()));
  return isa<LookupOp>(op);
}

/// The loops pay for themselves where matrices are looked up, and for long formulas.
bool GpuEmitter::prefersElements(MaskOp op) const {
  constexpr int64_t longFormula = 24;
  Fragment shape = shapeOf(op.getType());
  if (byElement || placement.strided || shape.vectors * kLanes > kWordBits)
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
         isOfElements(cast<MaskYieldOp>(block.getTerminator()).getTruth());
}

/// Whether an op that stands outside of such loops gets its own.
bool GpuEmitter::goesByElements(Operation &op) const {
  if (byElement || placement.strided || !loadsElements(op) || !isOfElements(op.getResult(0)))
    return false;
  Fragment shape = shapeOf(tileOf(op));
  return shape.size() * (shape.vectors ? kLanes : 1) > kLanes;
}

/// A tile that only such loops need is computed in them.
bool GpuEmitter::servesElements(Operation &op) const {
  if (byElement || placement.strided || op.use_empty() || !isOfElements(op.getResult(0)))
    return false;
  if (auto known = serving.find(&op); known != serving.end())
    return known->second;
  bool result = llvm::all_of(op.getUsers(), [&](Operation *user) {
    return user->getBlock() == op.getBlock() && tileOf(*user) &&
           (goesByElements(*user) || servesElements(*user));
  });
  serving[&op] = result;
  return result;
}

//===- Loops -------------------------------------------------------------===//

/// A loop of `count` steps; `carried` are its values before and after it.
LogicalResult GpuEmitter::repeat(int64_t count, SmallVectorImpl<Value> &carried,
                                 function_ref<LogicalResult(Value)> step) {
  auto loop = scf::ForOp::create(builder, loc, constant(0), constant(count), constant(1),
                                 ValueRange(ArrayRef<Value>(carried)));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  auto saved = fragments;
  carried.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  LogicalResult emitted = step(loop.getInductionVar());
  scf::YieldOp::create(builder, loc, carried);
  carried.assign(loop.result_begin(), loop.result_end());
  fragments = std::move(saved);
  return emitted;
}

/// While `body` is emitted, the fragment is the one element at `row` (null: of a tile of one row)
/// and at `elementColumn`, a scalar.
LogicalResult GpuEmitter::atElement(Value row, function_ref<LogicalResult()> body) {
  auto savedFragments = std::move(fragments);
  fragments.clear();
  int64_t savedRows = std::exchange(placement.rows, 1), savedWidth = std::exchange(width, 1);
  Value savedRow = std::exchange(firstRow, add(firstRow, row)), savedColumn = elementColumn;
  byElement = true;
  LogicalResult emitted = body();
  byElement = false;
  elementColumn = savedColumn;
  firstRow = savedRow;
  width = savedWidth;
  placement.rows = savedRows;
  fragments = std::move(savedFragments);
  return emitted;
}

static Value quadOf(OpBuilder &builder, Location loc, ArrayRef<int32_t> lanes) {
  auto type = VectorType::get({kLanes}, builder.getI32Type());
  return arith::ConstantOp::create(builder, loc, DenseIntElementsAttr::get(type, lanes));
}

//===- Predicates --------------------------------------------------------===//

/// The truths of one row as bits, from bit 0 on.
FailureOr<Value> GpuEmitter::truthsOfRow(MaskOp op, int64_t columns, Value row) {
  Block &block = op.getPredicate().front();
  Value truth = cast<MaskYieldOp>(block.getTerminator()).getTruth();
  SmallVector<Value> bits = {constant(0)};
  LogicalResult emitted = atElement(row, [&]() -> LogicalResult {
    for (Operation &inner : block.without_terminator()) // once a row
      if (RankedTensorType tile = tileOf(inner);
          tile && tile.getDimSize(1) == 1 && isOfElements(inner.getResult(0)))
        if (failed(use(inner.getResult(0))))
          return failure();
    return repeat(columns, bits, [&](Value column) -> LogicalResult {
      elementColumn = column;
      FailureOr<Fragment> one = use(truth);
      if (failed(one))
        return failure();
      Value bit = arith::ShLIOp::create(builder, loc, constant(1), column);
      bit = arith::SelectOp::create(builder, loc, one->at(0, 0), bit, constant(0));
      bits[0] = arith::OrIOp::create(builder, loc, bits[0], bit);
      return success();
    });
  });
  return failed(emitted) ? FailureOr<Value>(failure()) : bits[0];
}

LogicalResult GpuEmitter::emitPredicate(MaskOp op, SmallVectorImpl<Value> &truth) {
  if (!prefersElements(op))
    return BodyEmitter::emitPredicate(op, truth);
  for (Operation &inner : op.getPredicate().front().without_terminator())
    if (!tileOf(inner) && failed(emitOps({&inner})))
      return failure();
  Fragment shape = shapeOf(op.getType());
  int64_t columns = shape.vectors * kLanes, rowsOfWord = kWordBits / columns;
  SmallVector<Value> words((shape.rows + rowsOfWord - 1) / rowsOfWord, constant(0));
  LogicalResult emitted = repeat(shape.rows, words, [&](Value row) -> LogicalResult {
    FailureOr<Value> bits = truthsOfRow(op, columns, row);
    if (failed(bits))
      return failure();
    for (auto [w, word] : llvm::enumerate(words)) {
      // Rows of other words are shifted to where they are not seen.
      Value place = sub(row, constant(w * rowsOfWord));
      Value here = compare(arith::CmpIPredicate::ult, place, constant(rowsOfWord));
      Value moved = arith::ShLIOp::create(
          builder, loc, *bits,
          arith::SelectOp::create(builder, loc, here, mul(place, columns), constant(0)));
      moved = arith::SelectOp::create(builder, loc, here, moved, constant(0));
      word = arith::OrIOp::create(builder, loc, word, moved);
    }
    return success();
  });
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t j = 0; j < shape.vectors; ++j) {
      SmallVector<int32_t> masks;
      for (int64_t lane = 0; lane < kLanes; ++lane)
        masks.push_back(int32_t(uint32_t(1) << (row % rowsOfWord * columns + j * kLanes + lane)));
      Value word = splat(words[row / rowsOfWord], VectorType::get({kLanes}, builder.getI32Type()));
      Value set = arith::AndIOp::create(builder, loc, word, quadOf(builder, loc, masks));
      truth.push_back(compare(arith::CmpIPredicate::ne, set, quadOf(builder, loc, {0, 0, 0, 0})));
    }
  return emitted;
}

//===- Tables outside of predicates --------------------------------------===//

/// The registers of one row of an op's tile, or its one scalar.
LogicalResult GpuEmitter::emitRowOf(Operation &op, Value row, SmallVectorImpl<Value> &registers) {
  Value tile = op.getResult(0);
  int64_t vectors = shapeOf(tile.getType()).vectors;
  return atElement(row, [&]() -> LogicalResult {
    auto step = [&](Value column) -> LogicalResult {
      elementColumn = column;
      if (failed(emitOp(op)))
        return failure();
      Value one = fragments[tile].at(0, 0);
      if (!column) {
        registers[0] = one;
        return success();
      }
      Value at = splat(column, VectorType::get({kLanes}, builder.getI32Type()));
      for (auto [j, quad] : llvm::enumerate(registers)) {
        auto first = static_cast<int32_t>(j * kLanes);
        Value lanes = quadOf(builder, loc, {first, first + 1, first + 2, first + 3});
        quad = arith::SelectOp::create(builder, loc, compare(arith::CmpIPredicate::eq, at, lanes),
                                       splat(one, quad.getType()), quad);
      }
      return success();
    };
    return vectors ? repeat(vectors * kLanes, registers, step) : step(Value());
  });
}

LogicalResult GpuEmitter::emitByElements(Operation &op) {
  Value tile = op.getResult(0);
  Fragment result = shapeOf(tile.getType());
  Type type = registerType(getElementTypeOrSelf(tile.getType()), result.vectors);
  Value zero = arith::ConstantOp::create(builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
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
        Value here = compare(arith::CmpIPredicate::eq, row, constant(i / result.columns()));
        if (result.vectors)
          here = splat(here, VectorType::get({kLanes}, builder.getI1Type()));
        place = arith::SelectOp::create(builder, loc, here, one[i % result.columns()], place);
      }
      return success();
    });
  fragments[tile] = std::move(result);
  return emitted;
}

LogicalResult GpuEmitter::emitLookup(LookupOp op) {
  return goesByElements(*op) ? emitByElements(*op) : BodyEmitter::emitLookup(op);
}

LogicalResult GpuEmitter::emitLoad(LoadOp op) {
  return goesByElements(*op) ? emitByElements(*op) : BodyEmitter::emitLoad(op);
}

} // namespace heddle
