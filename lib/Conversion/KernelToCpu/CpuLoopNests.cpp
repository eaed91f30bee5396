//===- CpuLoopNests.cpp - Column loops over wide tiles -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the column fragments of wide tiles, each around a nest of fused
// ops. Results that later nests read stay in scratch, in the place of a tile
// that is read for the last time if there is one. Remaining columns run in
// fragments of 16.

#include "CpuEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===- Kept and recomputed tiles -----------------------------------------===//

/// Predicates and rounding are cheaper to recompute than to keep in scratch.
bool CpuEmitter::recomputes(Operation &op) const {
  if (BodyEmitter::recomputes(op))
    return true;
  if (op.getNumResults() != 1 || op.getNumRegions() || !isTile(op.getResult(0).getType()) ||
      columnsOf(op.getResult(0).getType()) == 1)
    return false;
  if (isa<math::RoundEvenOp>(op))
    return true;
  return getElementTypeOrSelf(op.getResult(0).getType()).isInteger(1) &&
         isa<arith::ArithDialect>(op.getDialect());
}

/// Whether a value is read after the nest, directly or through recomputed ops.
bool CpuEmitter::outlives(Value value, ArrayRef<Operation *> nest) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    for (Operation *op = user; op; op = op->getParentOp())
      if (llvm::is_contained(nest, op))
        return false;
    return recomputes(*user) ? outlives(user->getResult(0), nest) : true;
  });
}

/// Whether no op after the nest, or in the next iteration of a loop around it, reads the value.
static bool diesIn(Value value, ArrayRef<Operation *> nest,
                   function_ref<bool(Operation *)> isMadeAgain) {
  Block *block = nest.front()->getBlock();
  if (value.getParentBlock() != block)
    return false;
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (isMadeAgain(user))
      return false;
    return ancestor &&
           (llvm::is_contained(nest, ancestor) || ancestor->isBeforeInBlock(nest.front()));
  });
}

/// Tiles in memory that the nest reads column by column, directly or through recomputed ops.
void CpuEmitter::collectRead(Operation &op, SmallVectorImpl<Value> &tiles) {
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      if (operand.getDefiningOp() && !memoryOf(operand) && recomputes(*operand.getDefiningOp()))
        collectRead(*operand.getDefiningOp(), tiles);
      if (memoryOf(operand) && columnsOf(operand.getType()) > 1 && !isa<ContractOp>(inner))
        tiles.push_back(operand);
    }
  });
}

/// Gives memory to results that outlive the nest. A tile that is read for the last time lends its
/// own: its columns are read before the result's are written.
void CpuEmitter::keepResults(LoopNest &nest) {
  SmallVector<Value> dying, readWhole, read;
  auto madeAgain = [&](Operation *op) {
    return recomputes(*op) && outlives(op->getResult(0), nest.ops);
  };
  for (Operation *op : nest.ops) {
    collectRead(*op, read);
    if (auto contract = dyn_cast<ContractOp>(op))
      readWhole.push_back(contract.getLhs());
  }
  for (Value tile : read)
    if (columnsOf(tile.getType()) == nest.columns && !llvm::is_contained(dying, tile) &&
        !llvm::is_contained(readWhole, tile) && diesIn(tile, nest.ops, madeAgain))
      dying.push_back(tile);
  for (Operation *op : nest.ops)
    for (Value result : op->getResults()) {
      if (isa<ReduceOp>(op) || !isTile(result.getType()) || !outlives(result, nest.ops))
        continue;
      nest.kept.push_back(result);
      auto sameRows = [&](Value value) {
        auto a = cast<RankedTensorType>(value.getType()),
             b = cast<RankedTensorType>(result.getType());
        return a.getDimSize(0) == b.getDimSize(0) &&
               memoryElement(a.getElementType()) == memoryElement(b.getElementType());
      };
      auto place = llvm::find_if(dying, sameRows);
      TileMemory memory =
          place == dying.end() ? allocate(result.getType(), /*allRows=*/false) : *memoryOf(*place);
      if (place != dying.end())
        dying.erase(place);
      memory.valid = nest.range;
      fragmentMemory[result] = memory;
    }
}

//===- Bounds ------------------------------------------------------------===//

/// Columns that the view still has from the op's first one on; null if they cover the tile.
Value CpuEmitter::columnsLeft(Operation &op, int64_t columns) {
  auto left = [&](Value index, Value stored) -> Value {
    std::optional<int64_t> last = index ? largestIndex(index) : std::optional<int64_t>(0),
                           known = constantOf(stored);
    if (last && known && *last + columns <= *known)
      return {};
    return index ? sub(stored, scalar(index)) : stored;
  };
  // Static columns are padded to 16. Dynamic ones end at the extent; the last step of 16 rounds up.
  auto storedColumns = [&](Value v) {
    const Size &extent = view(v).type.getDims().back().extent;
    return extent.isStatic() ? constant(padded(extent.value)) : view(v).extents.back();
  };
  if (auto load = dyn_cast<LoadOp>(op);
      load && !load.getAsRows() && !load.getType().getElementType().isInteger(32))
    return left(load.getIndices().back(), storedColumns(load.getView()));
  if (auto gather = dyn_cast<GatherOp>(op))
    return left(gather.getColumn(), storedColumns(gather.getView()));
  // A tile of a view whose columns are dynamic lies inside its pitch: both are multiples of 16.
  if (auto store = dyn_cast<StoreOp>(op);
      store && !store.getAsRows() && view(store.getView()).type.getDims().back().extent.isStatic())
    return left(store.getIndices().back(), storedColumns(store.getView()));
  auto contract = dyn_cast<ContractOp>(op);
  if (!contract)
    return {};
  if (contract.getColumns())
    return scalar(contract.getColumns());
  if (contract.getRows())
    return left({}, storedColumns(contract.getRhs()));
  const Size &extent = view(contract.getRhs()).type.getDim(0).extent;
  return left(contract.getRhsIndex(), extent.isStatic() ? constant(padded(extent.value))
                                                        : view(contract.getRhs()).extents[0]);
}

/// Columns to compute: the intersection over all views and tiles in memory of the nest.
ColumnRange CpuEmitter::nestRange(const LoopNest &nest) {
  ColumnRange range;
  auto tighten = [&](ColumnRange other) {
    range.to = !range.to ? other.to : other.to ? minimum(range.to, other.to) : range.to;
    // Only a contraction has a start; tiles computed from its result inherit that value.
    range.from = range.from ? range.from : other.from;
  };
  for (Operation *op : nest.ops) {
    SmallVector<Value> read;
    collectRead(*op, read);
    for (Value tile : read)
      if (columnsOf(tile.getType()) == nest.columns)
        tighten(memoryOf(tile)->valid);
    if (nestColumns(*op) != nest.columns)
      continue;
    auto contract = dyn_cast<ContractOp>(op);
    bool starts = contract && contract.getFrom() && !contract.getRows();
    tighten({starts ? scalar(contract.getFrom()) : Value(), columnsLeft(*op, nest.columns)});
  }
  if (range.to)
    range.to = minimum(range.to, constant(nest.columns));
  return range;
}

/// Columns of a fragment, which divide those of the tile if possible. One bit of a mask decides on
/// a whole fragment, so it must not cross a visit tile. Without a product the fragment is smaller:
/// all intermediate values of its vectors live at the same time.
int64_t CpuEmitter::stepColumns(int64_t columns, bool alone) const {
  constexpr int64_t liveVectors = 8;
  int64_t most = std::min({plan.fragment.columns, columns, plan.visitTile});
  if (alone)
    most = std::min(most, std::max<int64_t>(liveVectors / at.rows * width / 16 * 16, 16));
  for (int64_t step = most; step * 2 >= most; step -= 16)
    if (columns % step == 0)
      return step;
  return most;
}

//===- Emission ----------------------------------------------------------===//

int64_t CpuEmitter::fragmentVectors(int64_t tileColumns) const {
  return (isWideColumns(tileColumns) ? at.columns : tileColumns) / width;
}

/// Runs whole fragments, then fragments of 16. `range.from` is a multiple of a fragment.
LogicalResult CpuEmitter::overColumns(int64_t columns, ColumnRange range, bool alone,
                                      Registers &sums,
                                      function_ref<LogicalResult(Registers &)> body) {
  auto loop = [&](Value from, Value to, int64_t step) {
    auto loop = scf::ForOp::create(builder, loc, from, to, constant(step), sums);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    TileContext inside = at;
    inside.column = loop.getInductionVar();
    inside.columns = step;
    llvm::SaveAndRestore context(at, inside);
    auto saved = fragments;
    Registers next(loop.getRegionIterArgs());
    LogicalResult result = body(next);
    fragments = std::move(saved);
    if (!next.empty())
      scf::YieldOp::create(builder, loc, next);
    sums.assign(loop.result_begin(), loop.result_end());
    return result;
  };
  int64_t step = stepColumns(columns, alone);
  Value bound = range.to ? range.to : constant(columns);
  Value zero = range.from ? range.from : constant(0);
  if (std::optional<int64_t> known = constantOf(bound); known && !range.from) {
    int64_t whole = *known / step * step;
    if (whole && failed(loop(zero, constant(whole), step)))
      return failure();
    return whole < *known ? loop(constant(whole), bound, 16) : success();
  }
  if (step == 16)
    return loop(zero, bound, 16);
  Value whole =
      mul(arith::DivUIOp::create(builder, loc, maximum(bound, constant(0)), constant(step)), step);
  if (failed(loop(zero, whole, step)))
    return failure();
  return loop(whole, bound, 16);
}

LogicalResult CpuEmitter::overColumns(int64_t columns, ColumnRange range, Callback body) {
  Registers none;
  return overColumns(columns, range, /*alone=*/false, none, [&](Registers &) { return body(); });
}

/// Emits the nest's ops at one column fragment.
LogicalResult CpuEmitter::emitColumnStep(LoopNest &nest, MutableArrayRef<Value> sums) {
  for (Operation *op : nest.ops) {
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!reduce) {
      if (failed(emitOp(*op)))
        return failure();
      continue;
    }
    FailureOr<Fragment> from = use(reduce.getOperand());
    if (failed(from))
      return failure();
    for (int64_t r = 0; r < from->rows; ++r) {
      accumulateLanes(reduce.getKind(), *from, r, sums.take_front(laneGroups()));
      sums = sums.drop_front(laneGroups());
    }
  }
  for (Value value : nest.kept)
    writeFragment(fragmentMemory[value], fragments[value], value.getType());
  return success();
}

/// Neutral element of a reduction: -0 + x is x, also for x = -0.
static float neutral(ReduceKind kind) {
  return kind == ReduceKind::Max ? -std::numeric_limits<float>::infinity() : -0.0f;
}

/// One column loop that carries the lanes of all reductions, which are combined behind it.
LogicalResult CpuEmitter::emitLoopNest(ArrayRef<Operation *> ops) {
  LoopNest nest;
  nest.ops = ops;
  nest.columns = nestColumns(*ops.front());
  nest.range = nestRange(nest);
  keepResults(nest);
  Registers sums;
  auto vector = VectorType::get({width}, builder.getF32Type());
  for (Operation *op : ops)
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (!reduce.getType().getElementType().isF32())
        return reduce.emitOpError("expected a reduction of f32");
      nest.reductions.push_back(reduce);
      Value start = arith::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(vector, neutral(reduce.getKind())));
      sums.append(shapeOf(reduce.getType()).rows * laneGroups(), start);
    }
  bool alone = llvm::none_of(ops, [](Operation *op) { return isa<ContractOp>(op); });
  if (failed(overColumns(nest.columns, nest.range, alone, sums,
                         [&](Registers &next) { return emitColumnStep(nest, next); })))
    return failure();
  ArrayRef<Value> rest = sums;
  for (ReduceOp reduce : nest.reductions) {
    Fragment result = shapeOf(reduce.getType());
    for (int64_t r = 0; r < result.rows; ++r) {
      result.registers.push_back(
          reduceLanes(reduce.getKind(), SmallVector<Value>(rest.take_front(laneGroups()))));
      rest = rest.drop_front(laneGroups());
    }
    fragments[reduce.getResult()] = std::move(result);
  }
  return success();
}
