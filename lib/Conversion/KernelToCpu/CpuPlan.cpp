//===- CpuPlan.cpp - Choice of the register tile of a body ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selects a body's register tile among the tiles of the instruction set. The first tile is taken
// whose columns divide the columns of all contractions; if the body stores panels, its rows must
// also be a power of two. Also collects the tile widths that may exceed the columns of a view,
// because their column loops need a dynamic bound.

#include "CpuProduct.h"

#include "heddle/Support/Program.h"

#include <algorithm>

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// Largest start of a tile along a grid axis.
static std::optional<int64_t> largestStart(Size size, int64_t tile) {
  if (!size.isStatic())
    return std::nullopt;
  return std::max<int64_t>(size.value - 1, 0) / tile * tile;
}

/// Last value of a loop's induction variable, if its bounds are constant.
static std::optional<int64_t> lastStep(scf::ForOp loop) {
  std::optional<int64_t> from = getConstantIntValue(loop.getLowerBound()),
                         to = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!from || !to || !step || *step < 1)
    return std::nullopt;
  return *from + std::max<int64_t>(*to - 1 - *from, 0) / *step * *step;
}

std::optional<int64_t> heddle::kernel::largestIndex(Value index) {
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto part = dyn_cast<PartOp>(parent))
      return largestStart(part.getExtent(), part.getTile());
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return argument == loop.getInductionVar() ? lastStep(loop) : std::nullopt;
    auto func = dyn_cast<FuncOp>(parent);
    if (!func)
      return std::nullopt;
    int64_t axis = argument.getArgNumber() - func.getNumViews();
    return largestStart(func.getGridSize(axis), func.getGridTiles()[axis]);
  }
  if (auto constant = index.getDefiningOp<arith::ConstantOp>())
    return cast<IntegerAttr>(constant.getValue()).getInt();
  Operation *op = index.getDefiningOp();
  if (!isa<arith::MulIOp, arith::AddIOp, arith::DivUIOp, arith::RemUIOp>(op))
    return std::nullopt;
  std::optional<int64_t> a = largestIndex(op->getOperand(0)), b = largestIndex(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  bool divides = isa<arith::DivUIOp, arith::RemUIOp>(op);
  if (divides && getConstantIntValue(op->getOperand(1)).value_or(0) < 1)
    return std::nullopt;
  return isa<arith::MulIOp>(op)    ? *a * *b
         : isa<arith::AddIOp>(op)  ? *a + *b
         : isa<arith::DivUIOp>(op) ? *a / *b
                                   : std::min(*a, *b - 1);
}

/// Whether columns [index, index + columns) may exceed the `stored` columns of a view.
static bool reachesPast(Value index, int64_t columns, const Size &stored) {
  if (!stored.isStatic())
    return true;
  std::optional<int64_t> last = index ? largestIndex(index) : std::optional<int64_t>(0);
  return !last || *last + columns > padded(stored.value);
}

/// Whether an op's columns may have to be clipped to a view's columns. Sets `columns` to their
/// number.
static bool mayClip(Operation &op, int64_t &columns) {
  auto lastDim = [](Value view) { return cast<ViewType>(view.getType()).getDims().back().extent; };
  if (auto load = dyn_cast<LoadOp>(op)) {
    columns = load.getType().getDimSize(1);
    // Columns of index tables may be read past their end.
    return !load.getAsRows() && !load.getType().getElementType().isInteger(32) &&
           reachesPast(load.getIndices().back(), columns, lastDim(load.getView()));
  }
  if (auto gather = dyn_cast<GatherOp>(op)) {
    columns = gather.getType().getDimSize(1);
    return reachesPast(gather.getColumn(), columns, lastDim(gather.getView()));
  }
  if (auto store = dyn_cast<StoreOpInterface>(op)) {
    columns = store.getTile().getType().getDimSize(1);
    std::optional<Size> stored = store.getViewColumns();
    return stored && reachesPast(store.getIndices().back(), columns, *stored);
  }
  auto contract = dyn_cast<ProductOpInterface>(op);
  if (!contract)
    return false;
  columns = contract.getType().getDimSize(1);
  if (contract.isOverRows())
    return reachesPast(contract.getRhsColumn(), columns, lastDim(contract.getRhs()));
  return contract.getRange().to ||
         reachesPast(contract.getRhsIndex(), columns,
                     cast<ViewType>(contract.getRhs().getType()).getDim(0).extent);
}

namespace {
/// Properties of a body that determine its register tile.
struct BodyNeeds {
  int64_t tileRows = 1;
  llvm::SmallSet<int64_t, 4> products, widths, clipped;
  bool storesPanels = false, weights = false;
  int64_t packsFrom = 0; ///< in register tiles
  Keeps keeps = Keeps::Sums;
};
} // namespace

static LogicalResult collectTile(Operation *op, Type type, BodyNeeds &needs) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile)
    return success();
  int64_t rows = tile.getDimSize(0), columns = tile.getDimSize(1);
  if (columns != 1 && columns % 16 != 0)
    return op->emitOpError() << "expected tiles of 1 or a multiple of 16 columns, found " << tile;
  if (rows != 1 && needs.tileRows != 1 && rows != needs.tileRows)
    return op->emitOpError() << "expected tiles of " << needs.tileRows
                             << " rows like the rest of the body, found " << tile;
  needs.tileRows = std::max(needs.tileRows, rows);
  if (columns > 1)
    needs.widths.insert(columns);
  return success();
}

static FailureOr<BodyNeeds> collectNeeds(Block &body, const CpuTarget &target) {
  BodyNeeds needs;
  WalkResult result = body.walk([&](Operation *op) {
    for (Type type : llvm::concat<Type>(SmallVector<Type>(op->getOperandTypes()),
                                        SmallVector<Type>(op->getResultTypes())))
      if (failed(collectTile(op, type, needs)))
        return WalkResult::interrupt();
    if (auto contract = dyn_cast<ProductOpInterface>(op)) {
      if (!contract.getRhs().getType().getDims().back().isStatic()) {
        op->emitOpError("expected a static last dimension on the right");
        return WalkResult::interrupt();
      }
      needs.products.insert(contract.getType().getDimSize(1));
      needs.weights |= contract.readsWeights();
      const ProductStrategy &strategy = chooseStrategy(contract, target);
      needs.keeps = std::max(needs.keeps, strategy.keeps(target));
      needs.packsFrom = std::max(needs.packsFrom, strategy.packsFrom(contract));
    }
    if (auto store = dyn_cast<StoreOpInterface>(op))
      needs.storesPanels |= cast<ViewType>(store.getView().getType()).getPanel() != 0;
    int64_t columns = 0;
    if (mayClip(*op, columns))
      needs.clipped.insert(columns);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return needs;
}

/// Rows that run together in a body without products; enough to hide the latency of sums.
static constexpr int64_t rowsWithoutProduct = 4;

static ArrayRef<CpuFragment> offeredFragments(const BodyNeeds &needs, const CpuTarget &target) {
  switch (needs.keeps) {
  case Keeps::GroupSums:
    return target.groupFragments.empty() ? target.pairFragments : target.groupFragments;
  case Keeps::Parts:
    return target.pairFragments;
  case Keeps::Sums:
    return needs.weights && !target.weightFragments.empty() ? target.weightFragments
                                                            : target.fragments;
  }
  llvm_unreachable("all are known");
}

/// Whether the number of columns of each product is a multiple of `columns`.
static bool divides(int64_t columns, const BodyNeeds &needs) {
  return llvm::all_of(needs.products, [&](int64_t all) { return all % columns == 0; });
}

/// Columns of a register tile of `rows` rows, if the large tile has `columns`. Each vector of sums
/// is one dependency chain, so a tile with few rows gets more vectors to hide the latency.
static int64_t columnsOfRows(int64_t columns, int64_t rows, const BodyNeeds &needs,
                             const CpuTarget &target) {
  constexpr int64_t chains = 8;
  if (needs.keeps != Keeps::GroupSums && !needs.weights)
    while (2 * columns / target.lanes * rows <= chains && divides(2 * columns, needs))
      columns *= 2;
  return columns;
}

static CpuFragment chooseFragment(const BodyNeeds &needs, const CpuTarget &target) {
  if (needs.products.empty()) {
    int64_t columns = target.lanes * 4;
    return {std::min(needs.tileRows, rowsWithoutProduct), columns};
  }
  auto suits = [&](const CpuFragment &fragment) {
    return !needs.storesPanels || llvm::isPowerOf2_64(fragment.rows);
  };
  ArrayRef<CpuFragment> offered = offeredFragments(needs, target);
  CpuFragment chosen = offered.back();
  for (const CpuFragment &fragment : llvm::reverse(offered))
    if (suits(fragment))
      chosen = fragment;
  for (const CpuFragment &fragment : llvm::reverse(offered))
    if (suits(fragment) && divides(fragment.columns, needs))
      chosen = fragment;
  if (needs.tileRows < chosen.rows)
    chosen = {needs.tileRows, columnsOfRows(chosen.columns, needs.tileRows, needs, target)};
  return chosen;
}

FailureOr<CpuPlan> heddle::kernel::planBody(Block &body, const CpuTarget &target) {
  FailureOr<BodyNeeds> needs = collectNeeds(body, target);
  if (failed(needs))
    return failure();
  CpuPlan plan;
  plan.tileRows = needs->tileRows;
  plan.fragment = chooseFragment(*needs, target);
  plan.clippedColumns = needs->clipped;
  plan.packsFrom = needs->packsFrom * plan.fragment.rows;
  body.walk(
      [&](MaskOp op) { plan.visitTile = std::min<int64_t>(plan.visitTile, op.getVisitTile()); });
  if (needs->products.empty())
    return plan;
  // A product with weights and one row is bound by memory; a register tile of one row queues the
  // most loads. Other small row counts occur only at the end of a tile. Attention has large code,
  // and usually either one row or many, so two register tiles are enough.
  plan.oneRow = needs->weights && plan.fragment.rows > 1;
  int64_t few = plan.oneRow ? 2 * target.fewRows : target.fewRows;
  if (plan.fragment.rows > few) {
    plan.fewRows = few;
    plan.fewColumns = columnsOfRows(plan.fragment.columns, few, *needs, target);
  }
  return plan;
}
