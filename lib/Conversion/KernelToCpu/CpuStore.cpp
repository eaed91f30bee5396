//===- CpuStore.cpp - Stores of a fragment --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores of a fragment to rows or to panels. In panels, element (row, c) has offset row / 16 * 16 *
// columns + c * 16 + row % 16. For bf16, words of two columns replace elements. A fragment within
// one panel is transposed in registers; other fragments are stored element by element. Columns that
// are not contiguous in memory are stored in contiguous pieces.

#include "CpuEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

namespace {
/// Emits one store.
class TileStore {
public:
  TileStore(CpuEmitter &emitter, StoreOpInterface op, Fragment tile);
  LogicalResult emit();

private:
  void findPieces();
  Value rowsLeft();
  void guardRows(function_ref<void(std::optional<int64_t>)> store);
  void toRows();
  void eachRow();
  LogicalResult eachPlace(ScatterOp scatter);
  void toPanels();
  Address rowAt(Value matrix, Value number);
  Address columnAt(const Address &row, int64_t number);
  void storeRow(int64_t row, Value matrix, Value number);
  void storePanelRow(int64_t row, const Address &start);
  void storePanelColumns(const Address &start);
  void storeZeros(const Address &row, Type type, int64_t together);
  Value inWords(Value value);

  int64_t word() const { return CpuEmitter::perWord(to); }
  /// Words in a register that is stored to panels.
  int64_t lanes() const { return e.width / word(); }
  /// Distance between columns, in elements.
  int64_t columnStep() const { return std::max<int64_t>(to.type.getPanel(), 1); }

  CpuEmitter &e;
  OpBuilder &builder;
  Location loc;
  StoreOpInterface op;
  Fragment tile;
  const BoundView to;
  Value offset, first, column; ///< start of the matrix; the fragment's first row and column
  Value left;                  ///< rows to store, starting with the first; null: all
  int64_t perPiece = 0;        ///< columns of a piece; 0: all columns are contiguous
  SmallVector<StorePiece> pieces;
};
} // namespace

/// Offset of the view at the leading indices, and the fragment's first row and column.
CpuEmitter::Origin CpuEmitter::storeOrigin(StoreOpInterface op, const Fragment &shape) {
  int64_t rank = op.getView().getType().getRank(), columns = columnsOf(op.getTile().getType());
  bool hasRows = op.getTile().getType().getDimSize(0) > 1;
  Value first = inRing(
      op, add(scalar(op.getIndices()[rank > 1 ? rank - 2 : 0]), hasRows ? loops.at.row : Value()));
  Value column =
      rank > 1 ? add(scalar(op.getIndices().back()), shape.vectors ? columnBase(columns) : Value())
               : Value();
  return {pointOffset(view(op.getView()), op.getIndices(), std::min<int64_t>(rank, 2)), first,
          column};
}

SmallVector<Address> CpuEmitter::storePlaces(StoreOpInterface op, const Fragment &shape) {
  auto [offset, first, column] = storeOrigin(op, shape);
  return storedPlaces(op, offset, first, column, shape);
}

TileStore::TileStore(CpuEmitter &emitter, StoreOpInterface op, Fragment fragment)
    : e(emitter), builder(e.builder), loc(e.loc), op(op), tile(std::move(fragment)),
      to(e.view(op.getView())) {
  auto [start, row, inRow] = e.storeOrigin(op, tile);
  offset = start;
  first = row;
  column = inRow;
  left = rowsLeft();
}

//===- Rows ---------------------------------------------------------------===//

/// Number of rows that may be written, starting with the fragment's first; null: all.
Value TileStore::rowsLeft() {
  int64_t tileRows = op.getTile().getType().getDimSize(0);
  if (tileRows == 1 && !op.getRows())
    return {};
  if (!op.getRows() && tileRows % e.loops.plan.fragment.rows == 0)
    return {};
  Value limit = e.constant(tileRows);
  if (op.getRows())
    limit = e.minimum(limit, e.scalar(op.getRows()));
  return e.sub(limit, tileRows == 1 ? Value() : e.loops.at.row);
}

/// Emits `store(nullopt)` for a whole fragment, or `store(r)` for each remaining row of a partial
/// one.
void TileStore::guardRows(function_ref<void(std::optional<int64_t>)> store) {
  if (!left)
    return store(std::nullopt);
  OpBuilder::InsertionGuard guard(builder);
  Value whole = e.compare(arith::CmpIPredicate::sge, left, e.constant(tile.rows));
  auto branch = scf::IfOp::create(builder, loc, whole, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  store(std::nullopt);
  // A partial fragment never stores its last row.
  for (int64_t r = 0; r + 1 < std::max<int64_t>(tile.rows, 2); ++r) {
    builder.setInsertionPoint(branch.elseBlock()->getTerminator());
    e.enterIf(e.compare(arith::CmpIPredicate::sgt, left, e.constant(r)));
    store(r);
  }
}

void TileStore::toRows() {
  SmallVector<Address> where = e.storedPlaces(op, offset, first, column, tile);
  guardRows([&](std::optional<int64_t> single) {
    for (int64_t r = single.value_or(0); r < (single ? *single + 1 : tile.rows); ++r)
      for (int64_t j = 0; j < tile.columns(); ++j)
        if (int64_t i = r * tile.columns() + j; tile.vectors)
          e.storeVector(tile.registers[i], to, where[i]);
        else
          e.storeScalar(tile.registers[i], to, where[i]);
  });
}

/// Stores row by row, because rows may be in different panels, or columns in several pieces.
void TileStore::eachRow() {
  OpBuilder::InsertionGuard guard(builder);
  for (int64_t r = 0; r < tile.rows; ++r) {
    OpBuilder::InsertionGuard rowGuard(builder);
    if (left)
      e.enterIf(e.compare(arith::CmpIPredicate::sgt, left, e.constant(r)));
    storeRow(r, offset, e.inRing(op, e.add(first, e.constant(r))));
  }
}

/// Stores each row that has a place to its matrix.
LogicalResult TileStore::eachPlace(ScatterOp scatter) {
  FailureOr<Fragment> places = e.use(scatter.getPlaces());
  if (failed(places))
    return failure();
  Value matrix = e.stride(to, 0);
  offset = e.add(offset, e.mul(e.loops.at.row, matrix));
  first = e.scalar(op.getIndices()[to.type.getRank() - 2]);
  OpBuilder::InsertionGuard guard(builder);
  for (int64_t r = 0; r < tile.rows; ++r) {
    OpBuilder::InsertionGuard rowGuard(builder);
    e.enterIf(e.compare(arith::CmpIPredicate::sgt, left, e.constant(r)));
    Value place = arith::ExtSIOp::create(builder, loc, e.indexType, places->at(r, 0));
    e.enterIf(e.compare(arith::CmpIPredicate::sge, place, e.constant(0)));
    Value row = e.add(first, place), start = e.add(offset, e.mul(matrix, r));
    storeRow(r, start, row);
  }
  return success();
}

/// Address of row `number` of a matrix.
Address TileStore::rowAt(Value matrix, Value number) {
  const int64_t panel = to.type.getPanel();
  if (!panel)
    return e.moved({matrix, 0}, e.mul(number, e.stride(to, to.type.getRank() - 2)));
  Value inPanel = arith::AndIOp::create(builder, loc, number, e.constant(panel - 1));
  Value before = e.mul(e.sub(number, inPanel), padded(to.type.getDims().back().pitch.value));
  return e.moved(e.moved({matrix, 0}, before), e.mul(inPanel, word()));
}

/// Address of the fragment's column `number` in a row.
Address TileStore::columnAt(const Address &row, int64_t number) {
  const int64_t step = columnStep();
  if (!perPiece)
    return e.moved(row, e.mul(column, step), number * step);
  const StorePiece &piece = pieces[number / perPiece];
  return e.moved(e.moved(row, piece.matrix), e.mul(piece.column, step), number % perPiece * step);
}

/// Stores a row of the fragment to row `number` of a matrix.
void TileStore::storeRow(int64_t row, Value matrix, Value number) {
  const Address start = rowAt(matrix, number);
  if (to.type.getPanel())
    return storePanelRow(row, start);
  const int64_t together = perPiece ? perPiece : e.width;
  Value part;
  for (int64_t at = 0; at < tile.vectors * e.width; at += together) {
    OpBuilder::InsertionGuard guard(builder);
    part = tile.at(row, at / e.width);
    if (together < e.width)
      part = vector::ExtractStridedSliceOp::create(builder, loc, part, {at % e.width}, {together},
                                                   {1});
    // The tail of the last head is stored into its padding and then zeroed; this is cheaper than a
    // bounds check.
    if (perPiece && isa<StoreColumnsOp>(*op) && pieces[at / perPiece].isStored)
      e.enterIf(pieces[at / perPiece].isStored);
    e.storeVector(part, to, columnAt(start, at));
  }
  storeZeros(start, part.getType(), together);
}

//===- Pieces -------------------------------------------------------------===//

void TileStore::findPieces() {
  perPiece = std::min(op.getPieceColumns(), e.width);
  Value base = e.columnBase(CpuEmitter::columnsOf(op.getTile().getType()));
  for (int64_t at = 0; perPiece && at < tile.vectors * e.width; at += perPiece)
    pieces.push_back(e.pieceOf(op, e.add(base, e.constant(at))));
}

/// Stores the zeros that pad a row in the matrix of each piece, `together` columns at a time. Tiles
/// that do not end a row also store them, which is cheaper than a check.
void TileStore::storeZeros(const Address &row, Type type, int64_t together) {
  const int64_t columns = to.type.getDims().back().extent.value;
  if (!perPiece || columns % 16 == 0)
    return;
  Value zero = arith::ConstantOp::create(builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
  // Pieces belong to several matrices only if they continue from head to head.
  const int64_t count = isa<StoreColumnsOp>(*op) ? 1 : static_cast<int64_t>(pieces.size()),
                inMatrix = std::max<int64_t>(columns / perPiece, 1);
  for (int64_t piece = 0; piece < count + inMatrix - 1; piece += inMatrix) {
    const Address start = e.moved(row, pieces[std::min(piece, count - 1)].matrix);
    for (int64_t at = columns; at < padded(columns); at += together)
      e.storeVector(zero, to, e.moved(start, Value(), at * columnStep()));
  }
}

//===- Panels -------------------------------------------------------------===//

void TileStore::toPanels() {
  if (!first)
    first = e.constant(0);
  if (!llvm::isPowerOf2_64(tile.rows) || tile.rows == 1 || tile.rows > lanes())
    return eachRow();
  Value misaligned = arith::AndIOp::create(builder, loc, first, e.constant(tile.rows - 1));
  Value fits = e.compare(arith::CmpIPredicate::eq, misaligned, e.constant(0));
  if (left) {
    Value whole = e.compare(arith::CmpIPredicate::sge, left, e.constant(tile.rows));
    fits = arith::AndIOp::create(builder, loc, fits, whole);
  }
  auto branch = scf::IfOp::create(builder, loc, fits, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  storePanelColumns(rowAt(offset, first));
  builder.setInsertionPointToStart(branch.elseBlock());
  eachRow();
}

/// Casts a register of narrow elements to words.
Value TileStore::inWords(Value value) {
  if (getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() == 32)
    return value;
  return vector::BitCastOp::create(builder, loc, VectorType::get({lanes()}, builder.getI32Type()),
                                   value);
}

/// Transposes rows x lanes registers in log2(rows) rounds of interleaving; each slice of `rows`
/// elements is then a column.
void TileStore::storePanelColumns(const Address &start) {
  const int64_t count = tile.rows, perVector = lanes() / count;
  Value part;
  for (int64_t j = 0; j < tile.vectors; ++j) {
    SmallVector<Value> vectors;
    for (int64_t r = 0; r < count; ++r)
      vectors.push_back(inWords(tile.at(r, j)));
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes() / 2; ++lane) {
      low.append({lane, lanes() + lane});
      high.append({lanes() / 2 + lane, lanes() + lanes() / 2 + lane});
    }
    for (int64_t round = count; round > 1; round /= 2) {
      SmallVector<Value> next(count);
      for (int64_t i = 0; i < count / 2; ++i) {
        next[2 * i] =
            vector::ShuffleOp::create(builder, loc, vectors[i], vectors[i + count / 2], low);
        next[2 * i + 1] =
            vector::ShuffleOp::create(builder, loc, vectors[i], vectors[i + count / 2], high);
      }
      vectors = std::move(next);
    }
    for (int64_t q = 0; q < count; ++q)
      for (int64_t cut = 0; cut < perVector; ++cut) {
        SmallVector<int64_t> chosen =
            llvm::to_vector(llvm::seq<int64_t>(cut * count, (cut + 1) * count));
        part = vector::ShuffleOp::create(builder, loc, vectors[q], vectors[q], chosen);
        e.storeVector(part, to, columnAt(start, (j * lanes() + q * perVector + cut) * word()));
      }
  }
  storeZeros(start, part.getType(), word());
}

/// Stores a row of the fragment element by element.
void TileStore::storePanelRow(int64_t row, const Address &start) {
  Value part;
  for (int64_t j = 0; j < tile.vectors; ++j) {
    Value words = inWords(tile.at(row, j));
    for (int64_t lane = 0; lane < lanes(); ++lane) {
      part = vector::ExtractOp::create(builder, loc, words, lane);
      e.storeScalar(part, to, columnAt(start, (j * lanes() + lane) * word()));
    }
  }
  storeZeros(start, part.getType(), word());
}

//===- The op -------------------------------------------------------------===//

LogicalResult TileStore::emit() {
  const bool isPanel = to.type.getPanel() != 0;
  auto scatter = dyn_cast<ScatterOp>(*op);
  if ((isPanel || scatter || op.getPieceColumns()) && !tile.vectors)
    return op.emitOpError("expected a tile of at least 16 columns");
  findPieces();
  if (scatter)
    return eachPlace(scatter);
  if (isPanel)
    toPanels();
  else if (perPiece)
    eachRow();
  else
    toRows();
  return success();
}

LogicalResult CpuEmitter::emitStore(StoreOpInterface op) {
  FailureOr<Fragment> tile = use(op.getTile());
  if (failed(tile))
    return failure();
  return TileStore(*this, op, *tile).emit();
}
