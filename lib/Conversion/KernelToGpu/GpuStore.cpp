//===- GpuStore.cpp - Stores of an invocation -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores of an invocation's fragments. Only rows below rows(%n) are stored, and each
// column by the invocation that owns it. Panels [r / 16][c][16] accept rows at any
// offset: four rows that start at a multiple of four are transposed and stored as
// vec4s, other rows one by one. For bf16 and f16, panels hold words of two columns of
// a row. Each vec4 of columns is inside one matrix, even if its tile is not.
#include "GpuEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::Address;
using heddle::kernel::BoundView;
using heddle::kernel::Fragment;
using heddle::kernel::StorePiece;

namespace heddle {

namespace {
/// Stores a fragment to a view.
class TileStore {
public:
  TileStore(GpuEmitter &emitter, kernel::StoreOpInterface op, const BoundView &view, Fragment tile,
            int64_t columns)
      : e(emitter), builder(e.builder), loc(e.loc), width(e.width), op(op), view(view),
        tile(std::move(tile)), columns(columns) {}

  void findPieces();
  void findPlaces();
  LogicalResult findRows(kernel::ScatterOp scatter);
  void storeRows(Value rowsLeft);
  void storePanels(Value rowsLeft);

  Value offset, firstRow, firstColumn; ///< start of the matrix; the fragment's first element
  SmallVector<Value> inside;           ///< by row, whether the window has it; empty: no window
  SmallVector<Address> places;         ///< row-major views only
  SmallVector<Value> rowOf; ///< by row, if each is in its own matrix; negative: not stored
  Value matrix;             ///< elements from a row's own matrix to the next

private:
  Value isStored(int64_t row, Value rowsLeft);
  Value zeroOf(Type type);
  void addPlaces(Value start, Value row);
  void storeRow(int64_t row);
  void storePiece(int64_t vector, function_ref<void()> store,
                  function_ref<void(int64_t column)> storeZeros);
  SmallVector<Value> wordsOf(Value value);
  void storePanelRow(int64_t row);
  void storePanelVec4s();
  Value panelPlace(int64_t row, int64_t vector);
  void eachVector(int64_t row, function_ref<void(int64_t vector, const Address &start)> store);

  GpuEmitter &e;
  OpBuilder &builder;
  Location loc;
  int64_t width;
  kernel::StoreOpInterface op;
  const BoundView view;
  Fragment tile;
  int64_t columns;                ///< columns of the whole tile
  SmallVector<StorePiece> pieces; ///< by vector, if columns are not contiguous
};
} // namespace

//===- Pieces ------------------------------------------------------------===//

void TileStore::findPieces() {
  for (int64_t j = 0; op.getPieceColumns() && j < tile.vectors; ++j)
    pieces.push_back(
        e.pieceOf(op, e.add(e.columnBase(columns), e.constant(e.vectorColumn(j, columns)))));
}

Value TileStore::zeroOf(Type type) {
  return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
}

/// Stores a vec4 of columns. If it ends a row of its matrix, also stores zeros to the row's
/// padding, four columns at a time; `column` counts from the vec4's first.
void TileStore::storePiece(int64_t vector, function_ref<void()> store,
                           function_ref<void(int64_t column)> storeZeros) {
  if (pieces.empty())
    return store();
  const StorePiece &piece = pieces[vector];
  e.onlyIf(piece.isStored, store);
  const int64_t all = view.type.getDims().back().extent.value;
  if (all % 16 == 0)
    return;
  Value isLast = e.compare(arith::CmpIPredicate::eq, piece.column, e.constant(all - width));
  e.onlyIf(isLast, [&] {
    for (int64_t column = all; column < padded(all); column += width)
      storeZeros(column - all + width);
  });
}

//===- Row-major views and vectors ---------------------------------------===//

/// Adds the addresses of a row of the fragment, row `row` of the matrix that begins at `start`.
void TileStore::addPlaces(Value start, Value row) {
  Fragment oneRow = tile;
  oneRow.rows = 1;
  if (pieces.empty())
    places.append(e.places(view, start, row, firstColumn, oneRow, columns));
  for (const StorePiece &piece : pieces) {
    Address place = e.moved({start, 0}, e.mul(row, e.stride(view, view.type.getRank() - 2)));
    places.push_back(e.moved(e.moved(place, piece.matrix), piece.column));
  }
}

/// Finds the addresses in a row-major view.
void TileStore::findPlaces() {
  if (pieces.empty()) {
    places = e.storedPlaces(op, offset, firstRow, firstColumn, tile);
    return;
  }
  for (int64_t row = 0; row < tile.rows; ++row)
    addPlaces(offset, e.inRing(op, e.add(firstRow, e.constant(row))));
}

void TileStore::storeRow(int64_t row) {
  for (int64_t j = 0; j < tile.columns(); ++j) {
    Address place = places[row * tile.columns() + j];
    Value number = tile.at(row, j);
    if (!tile.vectors) {
      e.storeScalar(number, view, place);
      continue;
    }
    storePiece(
        j, [&] { e.storeVector(number, view, place); },
        [&](int64_t column) {
          e.storeVector(zeroOf(number.getType()), view, e.moved(place, Value(), column));
        });
  }
}

/// Condition under which a row is stored; null: always.
Value TileStore::isStored(int64_t row, Value rowsLeft) {
  Value stored;
  if (rowsLeft)
    stored = e.compare(arith::CmpIPredicate::sgt, rowsLeft, e.constant(row));
  if (!rowOf.empty())
    stored = e.allOf(stored, e.compare(arith::CmpIPredicate::sge, rowOf[row], e.constant(0)));
  return inside.empty() ? stored : e.allOf(stored, inside[row]);
}

/// Finds the row index of each of the fragment's rows in its own matrix, and its addresses in a
/// row-major view.
LogicalResult TileStore::findRows(kernel::ScatterOp scatter) {
  FailureOr<Fragment> rows = e.use(scatter.getPlaces());
  if (failed(rows))
    return failure();
  rowOf = rows->registers;
  matrix = e.stride(view, 0);
  offset = e.add(offset, e.mul(matrix, e.rowBase()));
  firstRow = e.scalar(op.getIndices()[view.type.getRank() - 2]);
  for (int64_t row = 0; row < tile.rows && !view.type.getPanel(); ++row)
    addPlaces(e.add(offset, e.mul(matrix, row)), e.add(firstRow, rowOf[row]));
  return success();
}

void TileStore::storeRows(Value rowsLeft) {
  for (int64_t row = 0; row < tile.rows; ++row)
    e.onlyIf(isStored(row, rowsLeft), [&] { storeRow(row); });
}

//===- Panels ------------------------------------------------------------===//

/// Address of a row's first column, or of the first column of a vector in pieces: whole panels,
/// then columns of 16 rows, or two columns at a time of 16 words.
Value TileStore::panelPlace(int64_t number, int64_t vector) {
  Value row = rowOf.empty() ? e.inRing(op, e.add(firstRow, e.constant(number)))
                            : e.add(firstRow, rowOf[number]);
  Value start = rowOf.empty() ? offset : e.add(offset, e.mul(matrix, number));
  Value column = firstColumn;
  if (!pieces.empty()) {
    start = e.add(start, pieces[vector].matrix);
    column = pieces[vector].column;
  }
  int64_t panel = view.type.getPanel();
  int64_t stored = padded(view.type.getDims().back().pitch.value);
  Value inside = e.masked(row, panel - 1);
  Value before = e.mul(e.sub(row, inside), stored);
  Value across = e.mul(column, panel);
  return e.add(start, e.add(e.add(before, across), e.mul(inside, e.perWord(view))));
}

/// Calls `store` with the address of each vector's first column in the panel of a row.
void TileStore::eachVector(int64_t row,
                           function_ref<void(int64_t vector, const Address &start)> store) {
  Value start;
  for (int64_t j = 0; j < tile.vectors; ++j) {
    if (j == 0 || !pieces.empty())
      start = panelPlace(row, j);
    const int64_t column = pieces.empty() ? e.vectorColumn(j, columns) : 0;
    store(j, {start, column * view.type.getPanel()});
  }
}

/// The words of a register: its elements, or two narrow ones each.
SmallVector<Value> TileStore::wordsOf(Value value) {
  if (e.perWord(view) == 4)
    return {e.words.packBytes(value)};
  if (e.perWord(view) == 2) {
    auto [first, second] = e.words.packFour(value, view.type.getElementType());
    return {first, second};
  }
  SmallVector<Value> words;
  for (int64_t lane = 0; lane < width; ++lane)
    words.push_back(e.extract(value, lane));
  return words;
}

void TileStore::storePanelRow(int64_t row) {
  const int64_t word = e.perWord(view), panel = view.type.getPanel();
  eachVector(row, [&](int64_t j, const Address &start) {
    auto storeWords = [&](ArrayRef<Value> words, int64_t column) {
      for (Value value : words) {
        e.store(e.memory.wordAt(view, e.moved(start, Value(), column * panel)), value);
        column += word;
      }
    };
    const SmallVector<Value> words = wordsOf(tile.at(row, j));
    storePiece(
        j, [&] { storeWords(words, 0); },
        [&](int64_t column) {
          storeWords(SmallVector<Value>(words.size(), zeroOf(words[0].getType())), column);
        });
  });
}

/// Stores all rows, four at a time; the first row is a multiple of four.
void TileStore::storePanelVec4s() {
  const int64_t word = e.perWord(view), panel = view.type.getPanel();
  for (int64_t row = 0; row < tile.rows; row += width)
    eachVector(row, [&](int64_t j, const Address &start) {
      SmallVector<SmallVector<Value>> rows;
      for (int64_t i = 0; i < width; ++i)
        rows.push_back(wordsOf(tile.at(row + i, j)));
      auto storeVec4 = [&](Value vec4, int64_t column) {
        e.store(e.memory.vec4At(view, e.moved(start, Value(), column * panel)), vec4);
      };
      auto storeColumns = [&] {
        for (int64_t lane = 0; lane < width / word; ++lane) {
          SmallVector<Value> column;
          for (const SmallVector<Value> &words : rows)
            column.push_back(words[lane]);
          storeVec4(e.vectorOf(column), lane * word);
        }
      };
      storePiece(j, storeColumns, [&](int64_t column) {
        for (int64_t lane = 0; lane < width / word; ++lane)
          storeVec4(zeroOf(e.vec4Type()), column + lane * word);
      });
    });
}

/// Stores vec4s if all rows exist and start at a multiple of four, otherwise single rows.
void TileStore::storePanels(Value rowsLeft) {
  auto some = [&] {
    for (int64_t row = 0; row < tile.rows; ++row)
      e.onlyIf(isStored(row, rowsLeft), [&] { storePanelRow(row); });
  };
  if (tile.rows % width != 0 || !inside.empty() || !rowOf.empty())
    return some();
  Value odd = e.masked(firstRow, width - 1);
  Value vec4s = e.compare(arith::CmpIPredicate::eq, odd, e.constant(0));
  if (rowsLeft) {
    Value all = e.compare(arith::CmpIPredicate::sge, rowsLeft, e.constant(tile.rows));
    vec4s = e.bitAnd(vec4s, all);
  }
  e.onlyIf(vec4s, [&] { storePanelVec4s(); }, some);
}

//===- The op ------------------------------------------------------------===//

/// Returns for each row of the fragment whether the window contains the row that it gathers.
/// Returns an empty list if the kernel gathers from no window.
static FailureOr<SmallVector<Value>> rowsInWindow(GpuEmitter &e) {
  SmallVector<Value> inside;
  Value rows = e.entry.gatheredRows();
  if (!rows)
    return inside;
  FailureOr<kernel::Fragment> numbers = e.use(rows);
  if (failed(numbers))
    return failure();
  auto [first, count] = e.entry.rowsInWindow();
  for (int64_t row = 0; row < numbers->rows; ++row)
    inside.push_back(
        e.compare(arith::CmpIPredicate::ult, e.sub(numbers->at(row, 0), first), count));
  return inside;
}

LogicalResult GpuEmitter::emitStore(kernel::StoreOpInterface op) {
  FailureOr<Fragment> tile = use(op.getTile());
  if (failed(tile))
    return tile;
  auto type = cast<RankedTensorType>(op.getTile().getType());
  const BoundView to = view(op.getView());
  int64_t rank = to.type.getRank(), columns = type.getDimSize(1);
  TileStore store(*this, op, to, *tile, columns);
  store.offset = pointOffset(to, op.getIndices(), std::min<int64_t>(rank, 2));
  Value base = type.getDimSize(0) > 1 ? rowBase() : Value();
  store.firstRow = inRing(op, add(scalar(op.getIndices()[rank > 1 ? rank - 2 : 0]), base));
  if (rank > 1)
    store.firstColumn =
        add(scalar(op.getIndices().back()), columns > 1 ? columnBase(columns) : Value());
  FailureOr<SmallVector<Value>> inside = rowsInWindow(*this);
  if (failed(inside))
    return failure();
  store.inside = std::move(*inside);
  Value rowsLeft = op.getRows() ? sub(scalar(op.getRows()), base) : Value();
  if (to.type.getPanel() && !tile->vectors)
    return op.emitOpError("expected a store to panels of more than one column");
  if (op.getPieceColumns() && !tile->vectors)
    return op.emitOpError("expected a tile of vec4s where columns are stored in pieces");
  store.findPieces();
  auto scatter = dyn_cast<kernel::ScatterOp>(*op);
  if (scatter && failed(store.findRows(scatter)))
    return failure();
  if (!to.type.getPanel() && !scatter)
    store.findPlaces();
  onlyIf(mapping->stores(type), [&] {
    if (to.type.getPanel())
      store.storePanels(rowsLeft);
    else
      store.storeRows(rowsLeft);
  });
  return success();
}

} // namespace heddle
