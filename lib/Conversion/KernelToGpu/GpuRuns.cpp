//===- GpuRuns.cpp - Runs of elementwise ops, depth first -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GpuEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using heddle::kernel::Fragment;
using heddle::kernel::LoadOp;
using heddle::kernel::StoreOpInterface;

namespace heddle {

/// Rows that are stored to panels together, since stores transpose four rows.
static constexpr int64_t kPanelRows = 4;
/// Registers of a slice of a product. The registers of the whole row stay live next to them.
static constexpr int64_t kProductVectors = 16;

static ArrayRef<int64_t> shapeOfTile(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getShape() : ArrayRef<int64_t>();
}

//===- Members of a run --------------------------------------------------===//

bool GpuRuns::isMember(Operation &op, ArrayRef<int64_t> shape, const Run &run) const {
  if (auto store = dyn_cast<StoreOpInterface>(op)) {
    Operation *producer = store.getTile().getDefiningOp();
    return shapeOfTile(store.getTile().getType()) == shape && producer &&
           run.members.contains(producer);
  }
  if (op.getNumResults() == 0 || op.getNumRegions() ||
      !llvm::all_of(op.getResultTypes(), [&](Type type) { return shapeOfTile(type) == shape; }))
    return false;
  if (isa<LoadOp>(op))
    return !e.elements.takes(op);
  if (auto product = dyn_cast<kernel::ProductOpInterface>(op)) // a slice has some of its columns
    return e.mapping->slicesProducts() && product.isOverRows() &&
           !run.members.contains(product.getLhs().getDefiningOp());
  if (e.scores.floorOf(op)) // emits one branch for all registers
    return false;
  if (e.mapping->takes(op))
    return false;
  return isa<kernel::ScalebOp, kernel::GatherOp>(op) ||
         isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op.getDialect());
}

/// Collects ops on tiles of the first op's shape. Ops on scalars and on columns are emitted before.
GpuRuns::Run GpuRuns::collect(ArrayRef<Operation *> ops) const {
  Run run;
  ArrayRef<int64_t> shape;
  if (ops.front()->getNumResults() > 0)
    shape = shapeOfTile(ops.front()->getResult(0).getType());
  if (shape.empty() || shape[1] == 1)
    return run;
  for (Operation *op : ops) {
    if (!e.recomputes(*op)) {
      bool isScalar =
          op->getNumResults() == 1 && !op->getNumRegions() && isMemoryEffectFree(op) &&
          (!GpuEmitter::touchesTiles(*op) ||
           (!shapeOfTile(op->getResult(0).getType()).empty() &&
            shapeOfTile(op->getResult(0).getType())[1] == 1 && !isa<kernel::ReduceOp>(op)));
      if (isMember(*op, shape, run)) {
        (isa<StoreOpInterface>(op) ? run.stores : run.compute).push_back(op);
        run.members.insert(op);
        if (isa<kernel::ProductOpInterface>(op))
          run.vectors = kProductVectors;
      } else if (isScalar && !e.dependsOn(*op, run.members)) {
        run.before.push_back(op);
      } else {
        break;
      }
    }
    ++run.taken;
  }
  return run;
}

//===- Slices ------------------------------------------------------------===//

/// Emits `body` with fragments restricted to a slice.
LogicalResult GpuRuns::inSlice(Slice next, function_ref<LogicalResult()> body) {
  GpuContext inside = e.at;
  inside.firstRow = e.add(e.at.firstRow, e.constant(next.firstRow));
  inside.rows = next.rows;
  if (next.vector >= 0) {
    inside.vectors = next.vectors;
    inside.firstVector = next.vector;
  }
  Fragments whole = std::move(e.fragments);
  e.fragments.clear();
  LogicalResult emitted = success();
  {
    llvm::SaveAndRestore context(e.at, inside);
    llvm::SaveAndRestore<const Fragments *> known(outside, &whole);
    llvm::SaveAndRestore place(slice, next);
    emitted = body();
  }
  e.fragments = std::move(whole);
  return emitted;
}

const Fragment *GpuRuns::sliced(Value tile) {
  if (!outside)
    return nullptr;
  auto found = outside->find(tile);
  if (found == outside->end())
    return nullptr;
  const Fragment &from = found->second;
  Fragment part{{}, from.rows == 1 ? 1 : slice.rows, from.vectors};
  bool one = from.vectors && slice.vector >= 0;
  if (one)
    part.vectors = slice.vectors;
  for (int64_t row = 0; row < part.rows; ++row)
    for (int64_t column = 0; column < part.columns(); ++column)
      part.registers.push_back(
          from.at(from.rows == 1 ? 0 : slice.firstRow + row, one ? slice.vector + column : column));
  return &(e.fragments[tile] = std::move(part));
}

//===- Emission ----------------------------------------------------------===//

/// Loads rows that all rows of the fragment share once, for example a bias.
LogicalResult GpuRuns::loadSharedRows(Operation &op) {
  for (Value operand : op.getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (!producer || !GpuEmitter::isTile(operand.getType()) || !e.recomputes(*producer) ||
        e.fragments.contains(operand))
      continue;
    if (isa<LoadOp>(producer) ? failed(e.use(operand)) : failed(loadSharedRows(*producer)))
      return failure();
  }
  return success();
}

/// Tiles that ops compute, in order; an extended product computes two.
static SmallVector<Value> tilesOf(ArrayRef<Operation *> ops) {
  SmallVector<Value> tiles;
  for (Operation *op : ops)
    llvm::append_range(tiles, op->getResults());
  return tiles;
}

/// Emits the run for some rows and appends the registers that it computes to `results`.
LogicalResult GpuRuns::emitRows(const Run &run, const Fragment &shape, int64_t first, int64_t rows,
                                Fragments &results) {
  const SmallVector<Value> tiles = tilesOf(run.compute);
  SmallVector<Fragment> parts(tiles.size(), Fragment{{}, rows, shape.vectors});
  for (Fragment &part : parts)
    part.registers.resize(part.size());
  for (int64_t j = 0; j < shape.vectors; j += run.vectors) {
    const int64_t vectors = std::min(run.vectors, shape.vectors - j);
    LogicalResult emitted = inSlice({first, rows, j, vectors}, [&]() -> LogicalResult {
      for (Operation *op : run.compute)
        if (failed(e.emitOp(*op)))
          return failure();
      for (auto [tile, part] : llvm::zip(tiles, parts)) {
        const Fragment &made = e.fragments[tile];
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t v = 0; v < vectors; ++v)
            part.registers[row * shape.vectors + j + v] = made.at(row, v);
      }
      return success();
    });
    if (failed(emitted))
      return failure();
  }
  for (auto [tile, part] : llvm::zip(tiles, parts))
    llvm::append_range(results[tile].registers, part.registers);
  return inSlice({first, rows, -1}, [&]() -> LogicalResult {
    for (auto [tile, part] : llvm::zip(tiles, parts))
      e.fragments[tile] = std::move(part);
    for (Operation *store : run.stores)
      if (failed(e.emitOp(*store)))
        return failure();
    return success();
  });
}

LogicalResult GpuRuns::emitRun(const Run &run) {
  for (Operation *op : run.before)
    if (failed(e.emitOp(*op)))
      return failure();
  for (Operation *op : run.compute)
    if (failed(loadSharedRows(*op)))
      return failure();
  for (Operation *op : run.compute) // stage the whole tile rather than the columns of a slice
    if (auto product = dyn_cast<kernel::ProductOpInterface>(op))
      if (failed(e.workgroup.stage(product.getLhs())))
        return failure();
  Fragment shape = e.shapeOf(run.compute.front()->getResult(0).getType());
  bool panels = llvm::any_of(run.stores, [](Operation *op) {
    auto store = cast<StoreOpInterface>(op);
    return !isa<kernel::ScatterOp>(op) &&
           cast<kernel::ViewType>(store.getView().getType()).getPanel() != 0;
  });
  int64_t rows = panels && shape.rows % kPanelRows == 0 ? kPanelRows : 1;
  Fragments results;
  for (Value tile : tilesOf(run.compute))
    results[tile] = shape;
  for (int64_t first = 0; first < shape.rows; first += rows)
    if (failed(emitRows(run, shape, first, rows, results)))
      return failure();
  for (auto &[tile, fragment] : results)
    e.fragments[tile] = std::move(fragment);
  return success();
}

FailureOr<size_t> GpuRuns::emit(ArrayRef<Operation *> ops) {
  if (!e.mapping->holdsTiles() || e.at.byElement || outside)
    return size_t(0);
  Run run = collect(ops);
  if (run.members.size() < 2 || run.compute.empty() ||
      e.shapeOf(run.compute.front()->getResult(0).getType()).size() == 1)
    return size_t(0);
  if (failed(emitRun(run)))
    return failure();
  return run.taken;
}

LogicalResult GpuRuns::emitChoice(kernel::MaskOp op, const Fragment &tile, Value other,
                                  SmallVectorImpl<Value> &chosen) {
  for (int64_t row = 0; row < tile.rows; ++row) {
    LogicalResult emitted = inSlice({row, /*rows=*/1, /*vector=*/-1}, [&]() -> LogicalResult {
      Fragment one{{}, 1, tile.vectors};
      for (int64_t column = 0; column < tile.columns(); ++column)
        one.registers.push_back(tile.at(row, column));
      return e.emitChoice(op, one, other, chosen);
    });
    if (failed(emitted))
      return failure();
  }
  return success();
}

//===- In the emitter -----------------------------------------------------===//

LogicalResult GpuEmitter::emitChoice(kernel::MaskOp op, const Fragment &tile, Value other,
                                     SmallVectorImpl<Value> &chosen) {
  const bool isWhole = tile.rows == 1 || at.byElement || !mapping->holdsTiles() ||
                       runs.isInside() || elements.takesPredicate(op);
  return isWhole ? BodyEmitter::emitChoice(op, tile, other, chosen)
                 : runs.emitChoice(op, tile, other, chosen);
}

} // namespace heddle
