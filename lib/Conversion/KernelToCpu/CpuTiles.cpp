//===- CpuTiles.cpp - Row loops and loops over tiles ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile level of a body: scalars are computed once, and tile ops run in loops over row fragments.
// With mapping `cpu_strips`, a loop over keys surrounds the row loops, and its carried tiles are in
// memory.

#include "CpuProduct.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace heddle::kernel;

//===- Row fragments -----------------------------------------------------===//

/// Copies a tile to memory, from registers or other memory.
LogicalResult CpuEmitter::keep(Value value, const TileMemory &memory) {
  auto type = cast<RankedTensorType>(value.getType());
  const TileMemory *from = scratch.find(value);
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
  Registers none;
  ColumnRange range = from ? from->valid : ColumnRange();
  return loops.overColumns(type.getDimSize(1), range, /*alone=*/false, none, [&] {
    llvm::SaveAndRestore registers(fragments);
    return copy();
  });
}

//===- Blocks at tile level ----------------------------------------------===//

static bool holdsProduct(Operation &op) {
  return op.walk([](ProductOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Emits ops in row loops. Results that other ops of the block read are kept in row memory, and
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
  auto forContracts = [&](function_ref<void(ProductOpInterface)> act) {
    for (Operation *op : ops)
      if (auto contract = dyn_cast<ProductOpInterface>(op))
        act(contract);
  };
  forContracts([&](ProductOpInterface op) {
    if (isBlocked(*op))
      product(op).pack(constant(lastBlock(op)), constant(featuresOf(op)));
    else
      product(op).pack();
  });
  bool hasProducts = llvm::any_of(ops, [](Operation *op) { return holdsProduct(*op); });
  LogicalResult result = loops.overRows(hasProducts, [&]() -> LogicalResult {
    llvm::SaveAndRestore registers(fragments);
    llvm::SaveAndRestore tiles(scratch.fragments);
    llvm::SaveAndRestore slots(scratch.used);
    forContracts([&](ProductOpInterface op) {
      if (!op.isOverRows())
        product(op).enterRows(constant(firstFeature(op)), constant(featuresOf(op)));
    });
    if (failed(emitOps(ops)))
      return failure();
    forContracts([&](ProductOpInterface op) { product(op).leaveRows(); });
    for (auto [value, memory] : llvm::zip(outside, memories))
      if (failed(keep(value, memory)))
        return failure();
    for (auto [value, memory] : llvm::zip(yields, targets))
      if (failed(keep(value, memory)))
        return failure();
    return success();
  });
  for (auto [value, memory] : llvm::zip(outside, memories))
    scratch.rows[value] = memory;
  forContracts([&](ProductOpInterface op) { product(op).release(); });
  return result;
}

/// Groups ops on tiles into segments, each of which gets its own row loops. Code that sums a
/// contraction for all rows at once precedes the segment of the contraction. With mapping
/// `cpu_strips`, loops on tiles and branches with products are emitted between segments.
LogicalResult CpuEmitter::emitTileBlock(Block &block, ArrayRef<TileMemory> carried) {
  bool rowsInside = plan.getMapping() == Mapping::CpuStrips;
  SmallVector<Operation *> segment;
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    auto loop = dyn_cast<scf::ForOp>(op);
    auto branch = dyn_cast<scf::IfOp>(op);
    auto contract = dyn_cast<ProductOpInterface>(op);
    if (contract && (product(contract).usesMatrices() || isBlocked(op))) {
      if (product(contract).usesMatrices()) {
        if (contract.isOverRows()) { // its left tile is complete for all rows
          if (failed(emitSegment(block, segment, {}, {})))
            return failure();
          segment.clear();
        }
        product(contract).sumAhead();
      } else if (failed(emitFirstBlocks(contract))) {
        return failure();
      }
      segment.push_back(&op);
    } else if (rowsInside && ((loop && touchesTiles(op)) || (branch && holdsProduct(op)))) {
      if (failed(emitSegment(block, segment, {}, {})) ||
          failed(loop ? emitTileFor(loop) : emitTileIf(branch)))
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

/// Emits a loop over keys around the row loops; carried tiles of all rows are in memory.
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
    scratch.rows[op.getRegionIterArg(i)] = scratch.rows[op.getResult(i)] = memory;
  auto loop = scf::ForOp::create(builder, loc, scalar(op.getLowerBound()),
                                 scalar(op.getUpperBound()), scalar(op.getStep()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  scalars[op.getInductionVar()] = loop.getInductionVar();
  return emitTileBlock(*op.getBody(), carried);
}

/// Whether the branch is the only reader of the value, a tile of its block. The branch's result
/// then reuses its memory, so a side that passes the value through copies nothing.
bool CpuEmitter::canTakePlace(Value value, scf::IfOp branch) {
  return scratch.rows.contains(value) && value.getParentBlock() == branch->getBlock() &&
         llvm::all_of(value.getUsers(), [&](Operation *user) { return branch->isAncestor(user); });
}

/// Emits a branch around all rows, which attention uses around a chunk. The results are tiles in
/// memory, which both sides fill. If a single chunk is left, its loop is folded away, and the other
/// side yields the loop's initial constants.
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
        memory = scratch.rows[value];
    kept.push_back(memory ? *memory : allocate(result.getType(), /*allRows=*/true));
    scratch.rows[result] = kept.back();
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

/// Emits a loop inside the row loops. Narrow carried tiles are kept in registers, wide tiles in
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
    scratch.fragments[op.getRegionIterArg(i)] = scratch.fragments[op.getResult(i)] = memories[i];
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
