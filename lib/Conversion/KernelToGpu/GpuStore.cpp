//===- GpuStore.cpp - Results of one invocation ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores write only what exists: rows below rows(%n), and each column by the one
// invocation that owns it. Panels [r / 16][c][16] take rows at any offset: four
// rows at a multiple of four are transposed and stored as quads, others one by one. Of bf16 and f16,
// two columns of a row are one word there.
#include "GpuEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::BoundView;
using heddle::kernel::Fragment;
using heddle::kernel::Place;

namespace heddle {

/// A fragment on its way to a view.
struct GpuEmitter::Target {
  Fragment tile;
  BoundView view;
  Value offset, row, column; ///< start of the matrix, first row and column of the fragment
  SmallVector<Place> places; ///< row-major views only
  int64_t columns = 0;       ///< of the whole tile
};

Value GpuEmitter::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, predicate, a, b);
}

void GpuEmitter::onlyIf(Value condition, function_ref<void()> body,
                        function_ref<void()> otherwise) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
  if (!otherwise)
    return;
  builder.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

Value GpuEmitter::owns(RankedTensorType tile) {
  Value condition;
  auto require = [&](Value next) {
    condition = condition ? arith::AndIOp::create(builder, loc, condition, next).getResult() : next;
  };
  int64_t active = tile.getDimSize(1) == 1 ? 1 : activeColumns(tile.getDimSize(1));
  if (active < placement.tx)
    require(compare(arith::CmpIPredicate::slt, tx, constant(active)));
  if (tile.getDimSize(0) == 1 && placement.ty > 1)
    require(compare(arith::CmpIPredicate::eq, ty, constant(0)));
  return condition;
}

//===- Row-major views and vectors ---------------------------------------===//

void GpuEmitter::storeRow(const Target &target, int64_t row) {
  for (int64_t j = 0; j < target.tile.columns(); ++j) {
    Place place = target.places[row * target.tile.columns() + j];
    if (target.tile.vectors)
      storeVector(target.tile.at(row, j), target.view, place);
    else
      storeScalar(target.tile.at(row, j), target.view, place);
  }
}

void GpuEmitter::storeRows(const Target &target, Value rowsLeft) {
  for (int64_t row = 0; row < target.tile.rows; ++row) {
    Value exists = rowsLeft ? compare(arith::CmpIPredicate::sgt, rowsLeft, constant(row)) : Value();
    onlyIf(exists, [&] { storeRow(target, row); });
  }
}

//===- Panels ------------------------------------------------------------===//

/// Place of element (row, first column + column): whole panels before it, then columns of 16 rows,
/// or words of two columns.
Value GpuEmitter::panelPlace(const Target &target, Value row, int64_t column) {
  int64_t panel = target.view.type.getPanel();
  int64_t stored = padded(target.view.type.getDims().back().pitch.value);
  Value inside = arith::AndIOp::create(builder, loc, row, constant(panel - 1));
  Value start = mul(sub(row, inside), stored);
  Value across = mul(add(target.column, constant(column)), panel);
  return add(target.offset, add(add(start, across), mul(inside, perWord(target.view))));
}

/// The words of a register: its elements, or pairs of them.
SmallVector<Value> GpuEmitter::wordsOf(const Target &target, Value value) {
  if (perWord(target.view) == 2) {
    auto [first, second] = packFour(value, target.view.type.getElementType());
    return {first, second};
  }
  SmallVector<Value> words;
  for (int64_t lane = 0; lane < width; ++lane)
    words.push_back(vector::ExtractOp::create(builder, loc, value, lane));
  return words;
}

void GpuEmitter::storePanelRow(const Target &target, int64_t row) {
  Value start = panelPlace(target, add(target.row, constant(row)), 0);
  int64_t word = perWord(target.view), panel = target.view.type.getPanel();
  for (int64_t j = 0; j < target.tile.vectors; ++j)
    for (auto [i, value] : llvm::enumerate(wordsOf(target, target.tile.at(row, j)))) {
      int64_t column = vectorColumn(j, target.columns) + static_cast<int64_t>(i) * word;
      spirv::StoreOp::create(builder, loc, wordAt(target.view, {start, column * panel}), value);
    }
}

/// All rows, four at a time; the first is a multiple of four.
void GpuEmitter::storePanelQuads(const Target &target) {
  int64_t word = perWord(target.view), panel = target.view.type.getPanel();
  for (int64_t row = 0; row < target.tile.rows; row += width) {
    Value start = panelPlace(target, add(target.row, constant(row)), 0);
    for (int64_t j = 0; j < target.tile.vectors; ++j) {
      SmallVector<SmallVector<Value>> rows;
      for (int64_t i = 0; i < width; ++i)
        rows.push_back(wordsOf(target, target.tile.at(row + i, j)));
      for (int64_t lane = 0; lane < width / word; ++lane) {
        SmallVector<Value> column;
        for (const SmallVector<Value> &words : rows)
          column.push_back(words[lane]);
        Value quad = vector::FromElementsOp::create(builder, loc, quadType(), column);
        int64_t first = vectorColumn(j, target.columns) + lane * word;
        spirv::StoreOp::create(builder, loc, quadAt(target.view, {start, first * panel}), quad);
      }
    }
  }
}

void GpuEmitter::storePanels(const Target &target, Value rowsLeft) {
  auto some = [&] {
    for (int64_t row = 0; row < target.tile.rows; ++row) {
      Value exists =
          rowsLeft ? compare(arith::CmpIPredicate::sgt, rowsLeft, constant(row)) : Value();
      onlyIf(exists, [&] { storePanelRow(target, row); });
    }
  };
  if (target.tile.rows % width != 0)
    return some();
  Value odd = arith::AndIOp::create(builder, loc, target.row, constant(width - 1));
  Value quads = compare(arith::CmpIPredicate::eq, odd, constant(0));
  if (rowsLeft) {
    Value all = compare(arith::CmpIPredicate::sge, rowsLeft, constant(target.tile.rows));
    quads = arith::AndIOp::create(builder, loc, quads, all);
  }
  onlyIf(quads, [&] { storePanelQuads(target); }, some);
}

//===- The op ------------------------------------------------------------===//

LogicalResult GpuEmitter::emitStore(kernel::StoreOp op) {
  FailureOr<Fragment> tile = use(op.getTile());
  if (failed(tile))
    return tile;
  auto type = cast<RankedTensorType>(op.getTile().getType());
  const BoundView to = view(op.getView());
  int64_t rank = to.type.getRank(), columns = type.getDimSize(1);
  Target target{*tile, to, pointOffset(to, op.getIndices(), std::min<int64_t>(rank, 2)),
                {},    {}, {}};
  Value base = type.getDimSize(0) > 1 ? rowBase() : Value();
  target.row = add(scalar(op.getIndices()[rank > 1 ? rank - 2 : 0]), base);
  if (rank > 1)
    target.column =
        add(scalar(op.getIndices().back()), columns > 1 ? columnBase(columns) : Value());
  Value rowsLeft = op.getRows() ? sub(scalar(op.getRows()), base) : Value();
  if (to.type.getPanel() && !tile->vectors)
    return op.emitOpError("expected a store to panels of more than one column");
  if (!to.type.getPanel())
    target.places = places(to, target.offset, target.row, target.column, *tile, columns);
  onlyIf(owns(type),
         [&] { to.type.getPanel() ? storePanels(target, rowsLeft) : storeRows(target, rowsLeft); });
  return success();
}

} // namespace heddle
