//===- TileLoops.cpp - Loops over a tile's rows and columns ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the rows and columns of a tile, and their bounds.

#include "TileLoops.h"

#include "heddle/Support/Program.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===- Rows --------------------------------------------------------------===//

/// The number of rows to run is the maximum that any store writes.
void TileLoops::enter(const CpuPlan &bodyPlan, Block &body) {
  plan = bodyPlan;
  at = {plan.fragment.rows};
  Value most, all = e.constant(plan.tileRows);
  for (StoreOpInterface store : body.getOps<StoreOpInterface>()) {
    const BoundView &to = e.view(store.getView());
    int64_t rank = to.type.getRank(), dim = std::max<int64_t>(rank - 2, 0);
    Value count = store.getRows() ? e.scalar(store.getRows())
                                  : e.sub(to.extents[dim], e.scalar(store.getIndices()[dim]));
    count = e.minimum(count, all);
    most = most ? e.maximum(most, count) : count;
  }
  // A store in a loop or branch may write any row.
  bool nested = false;
  body.walk([&](StoreOpInterface store) { nested |= store->getBlock() != &body; });
  rowCount = !most || nested ? all : most;
}

/// Emits `body` for fragments of `count` rows.
LogicalResult TileLoops::rowsOf(int64_t count, Value from, Value to, Turns turns, bool isUnpacked,
                                Callback body) {
  OpBuilder::InsertionGuard guard(e.builder);
  TileContext inside{count, e.loopBy(from, to, count).getInductionVar(), turns};
  inside.isUnpacked = isUnpacked;
  llvm::SaveAndRestore context(at, inside);
  return body();
}

/// Number of rows that the large register tile runs; the small tile runs the others. The split
/// computes as few unused rows as possible.
Value TileLoops::rowsOfLargeTile(Value count, int64_t large, int64_t small) {
  auto inVain = [&](int64_t rows) { return (rows + small - 1) / small * small - rows; };
  // Let r rows remain after whole large tiles. If r >= `more`, another large tile runs, because
  // large - r <= inVain(r). If 0 < r <= `fewer`, one large tile is given back, because inVain(large
  // + r) < inVain(r). With tiles of 6 and 4, 8 rows are 4 + 4, not 6 + 4.
  int64_t more = large, fewer = 0;
  while (more > 1 && large - (more - 1) <= inVain(more - 1))
    --more;
  while (fewer + 1 < more && inVain(large + fewer + 1) < inVain(fewer + 1))
    ++fewer;
  count = e.maximum(count, e.constant(0));
  Value size = e.constant(large);
  Value tiles =
      arith::DivUIOp::create(e.builder, e.loc, e.add(count, e.constant(large - more)), size);
  if (fewer > 0) {
    Value left = e.sub(count, e.mul(tiles, size)); // wraps if the last tile is not full
    Value isFew =
        e.compare(arith::CmpIPredicate::ult, e.sub(left, e.constant(1)), e.constant(fewer));
    Value back = arith::AndIOp::create(e.builder, e.loc, isFew,
                                       e.compare(arith::CmpIPredicate::ne, tiles, e.constant(0)));
    tiles = e.sub(tiles, e.select(back, e.constant(1), e.constant(0)));
  }
  return e.mul(tiles, size);
}

TileLoops::RowSplit TileLoops::splitRows() {
  Value several = rowCount;
  if (plan.oneRow) {
    Value isOne = e.compare(arith::CmpIPredicate::eq, rowCount, e.constant(1));
    several = e.select(isOne, e.constant(0), rowCount);
  }
  if (!plan.fewRows)
    return {several, several};
  return {rowsOfLargeTile(several, plan.fragment.rows, plan.fewRows), several};
}

Turns TileLoops::turnsOf(Value rows, int64_t large) {
  auto areFewer = [&](int64_t tiles) {
    return e.compare(arith::CmpIPredicate::slt, rows, e.constant(tiles * large));
  };
  Value many = e.select(areFewer(16), e.constant(3), e.constant(4));
  return {areFewer(4), e.select(areFewer(8), e.constant(2), many)};
}

LogicalResult TileLoops::overRows(bool hasProducts, Callback body) {
  if (!hasProducts)
    return rowsOf(plan.fragment.rows, e.constant(0), rowCount, Turns(), false, body);
  if (failed(overSeveralRows(body)))
    return failure();
  return plan.oneRow ? rowsOf(1, splitRows().several, rowCount, Turns(), true, body) : success();
}

LogicalResult TileLoops::overSeveralRows(Callback body) {
  int64_t large = plan.fragment.rows, small = plan.fewRows;
  auto [whole, several] = splitRows();
  Turns turns = turnsOf(whole, large);
  Value packed = rowsOfPacked(whole);
  if (failed(rowsOf(large, e.constant(0), packed, turns, false, body)))
    return failure();
  if (plan.packsFrom && failed(rowsOf(large, packed, whole, turns, true, body)))
    return failure();
  return small ? rowsOf(small, whole, several, turns, true, body) : success();
}

/// Rows of the large register tile that read packed panels: all, or none if there are few rows.
Value TileLoops::rowsOfPacked(Value large) {
  if (!plan.packsFrom)
    return large;
  Value areMany = e.compare(arith::CmpIPredicate::uge, rowCount, e.constant(plan.packsFrom));
  return e.select(areMany, large, e.constant(0));
}

Value TileLoops::readsPacked() {
  return e.compare(arith::CmpIPredicate::ne, rowsOfPacked(splitRows().large), e.constant(0));
}

//===- Columns -----------------------------------------------------------===//

Value TileLoops::columnsLeft(Operation &op, int64_t columns) {
  auto left = [&](Value index, Value stored) -> Value {
    std::optional<int64_t> last = index ? largestIndex(index) : std::optional<int64_t>(0),
                           known = e.constantOf(stored);
    if (last && known && *last + columns <= *known)
      return {};
    return index ? e.sub(stored, e.scalar(index)) : stored;
  };
  // Static columns are padded to 16. Dynamic columns end at the extent, and the last step of 16
  // rounds up.
  auto storedColumns = [&](Value v) {
    const Size &extent = e.view(v).type.getDims().back().extent;
    return extent.isStatic() ? e.constant(padded(extent.value)) : e.view(v).extents.back();
  };
  if (auto load = dyn_cast<LoadOp>(op);
      load && !load.getAsRows() && !load.getType().getElementType().isInteger(32))
    return left(load.getIndices().back(), storedColumns(load.getView()));
  if (auto gather = dyn_cast<GatherOp>(op))
    return left(gather.getColumn(), storedColumns(gather.getView()));
  // A tile of a view with dynamic columns stays within the view's pitch: both are multiples of 16.
  if (auto store = dyn_cast<StoreOpInterface>(op)) {
    std::optional<Size> columns = store.getViewColumns();
    return columns && columns->isStatic()
               ? left(store.getIndices().back(), e.constant(padded(columns->value)))
               : Value();
  }
  auto contract = dyn_cast<ProductOpInterface>(op);
  if (!contract)
    return {};
  if (contract.isOverRows())
    return left(contract.getRhsColumn(), storedColumns(contract.getRhs()));
  if (Value columns = contract.getRange().to)
    return e.scalar(columns);
  const Size &extent = e.view(contract.getRhs()).type.getDim(0).extent;
  return left(contract.getRhsIndex(), extent.isStatic() ? e.constant(padded(extent.value))
                                                        : e.view(contract.getRhs()).extents[0]);
}

/// Columns of a fragment, which divide the columns of the tile if possible. One bit of a mask
/// decides on a whole fragment, so a fragment must not cross a visit tile. Without a product the
/// fragment is smaller, because all intermediate values of its vectors are live at the same time.
int64_t TileLoops::stepColumns(int64_t columns, bool alone) const {
  constexpr int64_t liveVectors = 8;
  const bool isFew = at.rows == plan.fewRows;
  int64_t most =
      std::min({isFew ? plan.fewColumns : plan.fragment.columns, columns, plan.visitTile});
  if (alone)
    most = std::min(most, std::max<int64_t>(liveVectors / at.rows * e.width / 16 * 16, 16));
  for (int64_t step = most; step * 2 >= most; step -= 16)
    if (columns % step == 0)
      return step;
  return most;
}

/// Emits whole fragments, then fragments of 16. `range.from` is a multiple of a fragment.
LogicalResult TileLoops::overColumns(int64_t columns, ColumnRange range, bool alone,
                                     Registers &sums, Callback body, int64_t step) {
  auto loop = [&](Value from, Value to, int64_t step) {
    LogicalResult result = success();
    e.loopOver(from, to, step, sums, [&](Value column) {
      llvm::SaveAndRestore context(at, {at.rows, at.row, at.turns, column, step, at.isUnpacked});
      result = body();
    });
    return result;
  };
  if (!step || columns % step != 0 || plan.visitTile < step)
    step = stepColumns(columns, alone);
  Value bound = range.to ? range.to : e.constant(columns);
  Value zero = range.from ? range.from : e.constant(0);
  if (std::optional<int64_t> known = e.constantOf(bound); known && !range.from) {
    int64_t whole = *known / step * step;
    if (whole && failed(loop(zero, e.constant(whole), step)))
      return failure();
    return whole < *known ? loop(e.constant(whole), bound, 16) : success();
  }
  if (step == 16)
    return loop(zero, bound, 16);
  Value whole = e.mul(
      arith::DivUIOp::create(e.builder, e.loc, e.maximum(bound, e.constant(0)), e.constant(step)),
      step);
  if (failed(loop(zero, whole, step)))
    return failure();
  return loop(whole, bound, 16);
}
