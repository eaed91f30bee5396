//===- CpuTiles.cpp - Row loops and loops over tiles -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile level of a body: scalars are computed once, tile ops run in loops over
// row fragments. With rows_inside, a loop over keys stands outside of the row
// loops, and its carried tiles live in memory.

#include "CpuProduct.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace heddle::kernel;

//===- Row fragments -----------------------------------------------------===//

/// Rows to run: the most that any store writes.
Value CpuEmitter::rowsToRun(Block &body) {
  Value most, all = constant(plan.tileRows);
  for (StoreOp store : body.getOps<StoreOp>()) {
    const BoundView &to = view(store.getView());
    int64_t rank = to.type.getRank(), dim = std::max<int64_t>(rank - 2, 0);
    Value count = store.getRows() ? scalar(store.getRows())
                                  : sub(to.extents[dim], scalar(store.getIndices()[dim]));
    count = minimum(count, all);
    most = most ? maximum(most, count) : count;
  }
  // A store in a loop or branch may write any row.
  bool nested = false;
  body.walk([&](StoreOp store) { nested |= store->getBlock() != &body; });
  return !most || nested ? all : most;
}

/// Emits `body` for fragments of `count` rows. Scratch taken inside is free again behind it.
LogicalResult CpuEmitter::rowsOf(int64_t count, Value from, Value to, Value fewTurns,
                                 Callback body) {
  OpBuilder::InsertionGuard guard(builder);
  TileContext inside{count, loopBy(from, to, count).getInductionVar(), fewTurns};
  llvm::SaveAndRestore context(at, inside);
  llvm::SaveAndRestore slots(scratch.used);
  fragments.clear();
  fragmentMemory.clear();
  LogicalResult result = body();
  fragments.clear();
  fragmentMemory.clear();
  return result;
}

/// Rows that the large register tile runs; the small one runs the others. The split computes as few
/// rows in vain as possible.
Value CpuEmitter::rowsOfLargeTile(Value count, int64_t large, int64_t small) {
  auto inVain = [&](int64_t rows) { return (rows + small - 1) / small * small - rows; };
  // For r rows behind whole large tiles: r >= `more` take another large tile, since large - r <=
  // inVain(r); 0 < r <= `fewer` give one back, since inVain(large + r) < inVain(r). With tiles of 6
  // and 4, 8 rows are 4 + 4, not 6 + 4.
  int64_t more = large, fewer = 0;
  while (more > 1 && large - (more - 1) <= inVain(more - 1))
    --more;
  while (fewer + 1 < more && inVain(large + fewer + 1) < inVain(fewer + 1))
    ++fewer;
  count = maximum(count, constant(0));
  Value size = constant(large);
  Value tiles = arith::DivUIOp::create(builder, loc, add(count, constant(large - more)), size);
  if (fewer > 0) {
    Value left = sub(count, mul(tiles, size)); // wraps where the last tile is not full
    Value isFew = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        sub(left, constant(1)), constant(fewer));
    Value back = arith::AndIOp::create(
        builder, loc, isFew,
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, tiles, constant(0)));
    tiles = sub(tiles, arith::SelectOp::create(builder, loc, back, constant(1), constant(0)));
  }
  return mul(tiles, size);
}

CpuEmitter::RowSplit CpuEmitter::splitRows() {
  Value several = rowCount;
  if (plan.oneRow) {
    Value isOne =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rowCount, constant(1));
    several = arith::SelectOp::create(builder, loc, isOne, constant(0), rowCount);
  }
  if (!plan.fewRows)
    return {several, several};
  return {rowsOfLargeTile(several, plan.fragment.rows, plan.fewRows), several};
}

/// Runs the large register tile, then the small one for the last rows, then that of a lone row.
LogicalResult CpuEmitter::rowLoop(bool hasProducts, Callback body) {
  int64_t large = plan.fragment.rows, small = plan.fewRows;
  Value zero = constant(0);
  if (!hasProducts)
    return rowsOf(large, zero, rowCount, Value(), body);
  auto [whole, several] = splitRows();
  Value fewTurns =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, whole, constant(4 * large));
  if (failed(rowsOf(large, zero, whole, fewTurns, body)))
    return failure();
  if (small && failed(rowsOf(small, whole, several, fewTurns, body)))
    return failure();
  return plan.oneRow ? rowsOf(1, several, rowCount, fewTurns, body) : success();
}

/// Copies a tile to memory, from registers or other memory.
LogicalResult CpuEmitter::keep(Value value, const TileMemory &memory) {
  auto type = cast<RankedTensorType>(value.getType());
  const TileMemory *from = memoryOf(value);
  if (from && from->base == memory.base)
    return success();
  auto copy = [&]() -> LogicalResult {
    FailureOr<Fragment> fragment = use(value);
    if (failed(fragment))
      return failure();
    writeFragment(memory, *fragment, type);
    return success();
  };
  if (!isWide(type))
    return copy();
  return overColumns(type.getDimSize(1), from ? from->valid : ColumnRange(), copy);
}

scf::ForOp CpuEmitter::loopBy(Value from, Value to, int64_t step) {
  auto loop = scf::ForOp::create(builder, loc, from, to, constant(step));
  builder.setInsertionPointToStart(loop.getBody());
  return loop;
}

void CpuEmitter::ifLargeTileRuns(function_ref<void()> body) {
  Value any =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, splitRows().large, constant(0));
  auto branch = scf::IfOp::create(builder, loc, any, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

//===- Blocks at tile level ----------------------------------------------===//

static bool holdsProduct(Operation &op) {
  return op.walk([](ContractOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Emits ops in row loops. Results that other ops of the block read are kept in row memory;
/// `yields` are copied to `targets`.
LogicalResult CpuEmitter::emitSegment(Block &block, ArrayRef<Operation *> ops, ValueRange yields,
                                      ArrayRef<TileMemory> targets) {
  if (ops.empty() && yields.empty())
    return success();
  auto isInside = [&](Operation *user) {
    Operation *ancestor = block.findAncestorOpInBlock(*user);
    return llvm::is_contained(ops, ancestor) ||
           (ancestor && ancestor->hasTrait<OpTrait::IsTerminator>());
  };
  SmallVector<Value> outside;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (isTile(result.getType()) && !recomputes(*op) &&
          !llvm::all_of(result.getUsers(), isInside))
        outside.push_back(result);
  SmallVector<TileMemory> memories;
  for (Value value : outside)
    memories.push_back(allocate(value.getType(), /*allRows=*/true));
  for (Operation *op : ops)
    if (auto contract = dyn_cast<ContractOp>(op)) {
      if (isBlocked(*op))
        product(contract).pack(constant(lastBlock(contract)), constant(featuresOf(contract)));
      else
        product(contract).pack();
    }
  bool hasProducts = llvm::any_of(ops, [](Operation *op) { return holdsProduct(*op); });
  LogicalResult result = rowLoop(hasProducts, [&]() -> LogicalResult {
    if (failed(emitOps(ops)))
      return failure();
    for (auto [value, memory] : llvm::zip(outside, memories))
      if (failed(keep(value, memory)))
        return failure();
    for (auto [value, memory] : llvm::zip(yields, targets))
      if (failed(keep(value, memory)))
        return failure();
    return success();
  });
  for (auto [value, memory] : llvm::zip(outside, memories))
    rowMemory[value] = memory;
  for (Operation *op : ops)
    if (auto contract = dyn_cast<ContractOp>(op))
      product(contract).release();
  return result;
}

/// Gathers ops on tiles in segments, each of which gets its own row loops. With rows_inside, loops
/// and branches with products stand between segments.
LogicalResult CpuEmitter::emitTileBlock(Block &block, ArrayRef<TileMemory> carried) {
  bool rowsInside = kernel.getScheduleOrDefault().getOrder() == LoopOrder::RowsInside;
  SmallVector<Operation *> segment;
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    if (isBlocked(op)) {
      if (failed(emitFirstBlocks(cast<ContractOp>(op))))
        return failure();
      segment.push_back(&op);
    } else if (auto loop = dyn_cast<scf::ForOp>(op); loop && rowsInside && touchesTiles(op)) {
      if (failed(emitSegment(block, segment, {}, {})) || failed(emitTileFor(loop)))
        return failure();
      segment.clear();
    } else if (auto branch = dyn_cast<scf::IfOp>(op); branch && rowsInside && holdsProduct(op)) {
      if (failed(emitSegment(block, segment, {}, {})) || failed(emitTileIf(branch)))
        return failure();
      segment.clear();
    } else if (touchesTiles(op)) {
      segment.push_back(&op);
    } else if (!scalars.contains(op.getNumResults() ? op.getResult(0) : Value()) &&
               failed(emitOp(op))) {
      return failure();
    }
  }
  ValueRange yields;
  if (!carried.empty())
    yields = block.getTerminator()->getOperands();
  return emitSegment(block, segment, yields, carried);
}

/// Emits a loop over keys outside of the row loops; carried tiles of all rows are in memory.
LogicalResult CpuEmitter::emitTileFor(scf::ForOp op) {
  SmallVector<TileMemory> carried;
  for (Value init : op.getInitArgs()) {
    if (!isTile(init.getType()))
      return op.emitOpError("expected a loop around rows to carry tiles only");
    carried.push_back(allocate(init.getType(), /*allRows=*/true));
  }
  if (failed(emitSegment(*op->getBlock(), {}, op.getInitArgs(), carried)))
    return failure();
  for (auto [i, memory] : llvm::enumerate(carried))
    rowMemory[op.getRegionIterArg(i)] = rowMemory[op.getResult(i)] = memory;
  auto loop = scf::ForOp::create(builder, loc, scalar(op.getLowerBound()),
                                 scalar(op.getUpperBound()), scalar(op.getStep()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  scalars[op.getInductionVar()] = loop.getInductionVar();
  return emitTileBlock(*op.getBody(), carried);
}

/// Whether only the branch reads the value, a tile of its block. The branch's result then takes its
/// memory, so that a side that passes it through copies nothing.
bool CpuEmitter::canTakePlace(Value value, scf::IfOp branch) {
  return rowMemory.contains(value) && value.getParentBlock() == branch->getBlock() &&
         llvm::all_of(value.getUsers(), [&](Operation *user) { return branch->isAncestor(user); });
}

/// Emits a branch around all rows, which attention has around a chunk; its results are tiles in
/// memory, which either side fills. With a single chunk the loop around it is folded away, and the
/// other side yields the loop's initial constants.
LogicalResult CpuEmitter::emitTileIf(scf::IfOp op) {
  SmallVector<TileMemory> kept;
  llvm::SmallDenseSet<Value> taken;
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    if (!isTile(result.getType()) || op.getElseRegion().empty())
      return op.emitOpError("expected a branch around rows to yield tiles only, found ")
             << result.getType();
    std::optional<TileMemory> memory;
    for (scf::YieldOp yield : {op.elseYield(), op.thenYield()})
      if (Value value = yield.getOperand(index);
          !memory && canTakePlace(value, op) && taken.insert(value).second)
        memory = rowMemory[value];
    kept.push_back(memory ? *memory : allocate(result.getType(), /*allRows=*/true));
    rowMemory[result] = kept.back();
  }
  auto branch = scf::IfOp::create(builder, loc, scalar(op.getCondition()),
                                  /*withElseRegion=*/!op.getElseRegion().empty());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  if (failed(emitTileBlock(*op.thenBlock(), kept)))
    return failure();
  if (op.getElseRegion().empty())
    return success();
  builder.setInsertionPointToStart(branch.elseBlock());
  return emitTileBlock(*op.elseBlock(), kept);
}

//===- Loops inside the rows ---------------------------------------------===//

/// Emits a loop inside the rows: narrow carried tiles are carried registers, wide ones stay in
/// scratch.
LogicalResult CpuEmitter::emitFor(scf::ForOp op) {
  auto isWideValue = [&](Value value) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    return tile && isWide(tile);
  };
  SmallVector<Value> inits, yields;
  SmallVector<TileMemory> memories(op.getNumRegionIterArgs());
  for (auto [i, init] : llvm::enumerate(op.getInitArgs())) {
    if (!isWideValue(init)) {
      if (failed(appendRegisters(init, inits)))
        return failure();
      continue;
    }
    memories[i] = allocate(init.getType(), /*allRows=*/false);
    if (failed(keep(init, memories[i])))
      return failure();
    fragmentMemory[op.getRegionIterArg(i)] = fragmentMemory[op.getResult(i)] = memories[i];
  }
  auto loop = scf::ForOp::create(builder, loc, scalar(op.getLowerBound()),
                                 scalar(op.getUpperBound()), scalar(op.getStep()), inits);
  SmallVector<Value> narrowArgs, narrowResults;
  for (auto [arg, result] : llvm::zip(op.getRegionIterArgs(), op.getResults()))
    if (!isWideValue(arg)) {
      narrowArgs.push_back(arg);
      narrowResults.push_back(result);
    }
  {
    OpBuilder::InsertionGuard guard(builder);
    auto saved = fragments;
    builder.setInsertionPointToStart(loop.getBody());
    scalars[op.getInductionVar()] = loop.getInductionVar();
    bindRegisters(narrowArgs, loop.getRegionIterArgs());
    if (failed(emitBlock(*op.getBody())))
      return failure();
    for (auto [i, value] : llvm::enumerate(op.getBody()->getTerminator()->getOperands())) {
      if (!isWideValue(value) ? failed(appendRegisters(value, yields))
                              : failed(keep(value, memories[i])))
        return failure();
    }
    if (!yields.empty())
      scf::YieldOp::create(builder, loc, yields);
    fragments = std::move(saved);
  }
  bindRegisters(narrowResults, loop.getResults());
  return success();
}
