//===- CpuMemory.cpp - Addresses, scratch and stores -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses, scratch and stores of the generated code: pointers with computed
// and constant offsets, no memref. No alias information is attached, since a
// launch may pass one buffer twice.

#include "CpuEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===- Addresses ---------------------------------------------------------===//

Value CpuEmitter::address(Value base, Address place, Type element) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  if (place.dynamic)
    base = LLVM::GEPOp::create(builder, loc, pointer, element, base,
                               ArrayRef<LLVM::GEPArg>{place.dynamic});
  if (place.constant)
    base = LLVM::GEPOp::create(builder, loc, pointer, element, base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(place.constant)});
  return base;
}

/// Type of an element in memory, the unit of addresses: f32 for 4 bytes, else an integer.
Type CpuEmitter::memoryElement(Type element) const {
  return perWord(element) == 1 ? Type(builder.getF32Type()) : narrowElement(element);
}

Value CpuEmitter::loadAt(Value base, Address place, Type type, Type element) {
  return LLVM::LoadOp::create(builder, loc, type, address(base, place, element),
                              element.getIntOrFloatBitWidth() / 8);
}

void CpuEmitter::storeAt(Value value, Value base, Address place, Type element) {
  LLVM::StoreOp::create(builder, loc, value, address(base, place, element),
                        element.getIntOrFloatBitWidth() / 8);
}

Value CpuEmitter::loadVector(const BoundView &view, Address place) {
  Type element = view.type.getElementType();
  return loadAt(pointers[view.argument], place, registerType(element, 1), memoryElement(element));
}

Value CpuEmitter::loadWord(const BoundView &view, Address place) {
  return loadAt(pointers[view.argument], place, builder.getI32Type(),
                memoryElement(view.type.getElementType()));
}

Value CpuEmitter::loadWords(const BoundView &view, Address place) {
  return loadAt(pointers[view.argument], place, VectorType::get({width}, builder.getI32Type()),
                memoryElement(view.type.getElementType()));
}

SmallVector<Value> CpuEmitter::loadScalars(const BoundView &view, Address place, int64_t count) {
  SmallVector<Value> values;
  Type element = view.type.getElementType();
  for (int64_t i = 0; i < count; ++i)
    values.push_back(loadAt(pointers[view.argument], moved(place, Value(), i),
                            registerType(element, 0), memoryElement(element)));
  return values;
}

void CpuEmitter::storeVector(Value value, const BoundView &view, Address place) {
  storeAt(value, pointers[view.argument], place, memoryElement(view.type.getElementType()));
}

void CpuEmitter::storeScalar(Value value, const BoundView &view, Address place) {
  storeVector(value, view, place);
}

//===- Tiles in memory ---------------------------------------------------===//

void CpuScratch::place(TileMemory &tile) {
  int64_t elements = tile.rows * tile.columns;
  int64_t slotBytes = elements * tile.element.getIntOrFloatBitWidth() / 8;
  used.resize(slots.size());
  size_t i = 0;
  while (i < slots.size() && (used[i] || slots[i].second != slotBytes))
    ++i;
  if (i == slots.size()) {
    OpBuilder builder = OpBuilder::atBlockBegin(entry);
    Location loc = entry->getParentOp()->getLoc();
    Value size = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(elements));
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    slots.push_back(
        {LLVM::AllocaOp::create(builder, loc, pointer, tile.element, size, /*alignment=*/64),
         slotBytes});
    used.push_back(false);
    bytes += slotBytes;
  }
  used[i] = true;
  tile.base = slots[i].first;
}

void CpuScratch::release(const TileMemory &tile) {
  for (auto [slot, isUsed] : llvm::zip(slots, used))
    if (slot.first == tile.base)
      isUsed = false;
}

const TileMemory *CpuScratch::find(Value tile) const {
  for (const auto *tiles : {&fragments, &rows})
    if (auto it = tiles->find(tile); it != tiles->end())
      return &it->second;
  return nullptr;
}

TileMemory CpuEmitter::allocate(Type tile, bool allRows) {
  auto type = cast<RankedTensorType>(tile);
  TileMemory memory;
  memory.columns = type.getDimSize(1);
  memory.allRows = allRows;
  memory.element = memoryElement(type.getElementType());
  int64_t fragmentRows = loops.plan.fragment.rows;
  if (type.getDimSize(0) == 1)
    memory.rows = 1;
  else
    memory.rows = allRows ? (loops.plan.tileRows + fragmentRows - 1) / fragmentRows * fragmentRows
                          : fragmentRows;
  scratch.place(memory);
  return memory;
}

Address CpuEmitter::placeIn(const TileMemory &memory, int64_t rowOffset, Value column,
                            int64_t columnOffset) {
  Address place{{}, rowOffset * memory.columns + columnOffset};
  if (memory.allRows && memory.rows > 1)
    place = moved(place, mul(loops.at.row, memory.columns));
  return moved(place, column);
}

Fragment CpuEmitter::readFragment(const TileMemory &memory, Type tile) {
  Fragment fragment = shapeOf(tile);
  Type type = registerType(getElementTypeOrSelf(tile), fragment.vectors);
  Value column = fragment.vectors ? columnBase(memory.columns) : Value();
  for (int64_t r = 0; r < fragment.rows; ++r)
    for (int64_t j = 0; j < fragment.columns(); ++j)
      fragment.registers.push_back(
          loadAt(memory.base, placeIn(memory, r, column, j * width), type, memory.element));
  return fragment;
}

void CpuEmitter::writeFragment(const TileMemory &memory, const Fragment &fragment, Type tile) {
  Value column = fragment.vectors ? columnBase(memory.columns) : Value();
  for (int64_t r = 0; r < fragment.rows; ++r)
    for (int64_t j = 0; j < fragment.columns(); ++j)
      storeAt(fragment.at(r, j), memory.base, placeIn(memory, r, column, j * width),
              memory.element);
}

FailureOr<Fragment> CpuEmitter::materialize(Value tile) {
  const TileMemory *memory = scratch.find(tile);
  if (!memory)
    return BodyEmitter::materialize(tile);
  if (isWide(cast<RankedTensorType>(tile.getType())) && !inColumnLoop())
    return emitError(tile.getLoc(),
                     "expected a wide tile to be used in a nest of ops on wide tiles");
  return fragments[tile] = readFragment(*memory, tile.getType());
}

//===- Stores ------------------------------------------------------------===//

/// Rows that may be written, from the fragment's first on; null: all.
Value CpuEmitter::rowsLeft(StoreOp op) {
  int64_t tileRows = op.getTile().getType().getDimSize(0);
  if (tileRows == 1 && !op.getRows())
    return {};
  if (!op.getRows() && tileRows % loops.plan.fragment.rows == 0)
    return {};
  Value limit = constant(tileRows);
  if (op.getRows())
    limit = minimum(limit, scalar(op.getRows()));
  return sub(limit, tileRows == 1 ? Value() : loops.at.row);
}

/// Calls `store(none)` for a whole fragment, `store(r)` for each row left of an incomplete one.
void CpuEmitter::guardRows(Value left, int64_t count,
                           function_ref<void(std::optional<int64_t>)> store) {
  if (!left)
    return store(std::nullopt);
  OpBuilder::InsertionGuard guard(builder);
  Value whole = compare(arith::CmpIPredicate::sge, left, constant(count));
  auto branch = scf::IfOp::create(builder, loc, whole, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  store(std::nullopt);
  // Fewer rows are left than the fragment has, so its last row is never among them.
  for (int64_t r = 0; r + 1 < std::max<int64_t>(count, 2); ++r) {
    builder.setInsertionPoint(branch.elseBlock()->getTerminator());
    enterIf(compare(arith::CmpIPredicate::sgt, left, constant(r)));
    store(r);
  }
}

/// The view's offset at the leading indices, and the fragment's first row and column.
CpuEmitter::Origin CpuEmitter::storeOrigin(StoreOp op, const Fragment &shape) {
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

SmallVector<Address> CpuEmitter::storePlaces(StoreOp op, const Fragment &shape) {
  auto [offset, first, column] = storeOrigin(op, shape);
  return storedPlaces(op, offset, first, column, shape);
}

/// Stores each row that has a place to its matrix.
LogicalResult CpuEmitter::storeToPlaces(StoreOp op, const Fragment &tile, const BoundView &to) {
  FailureOr<Fragment> places = use(op.getPlaces());
  if (failed(places))
    return failure();
  if (!tile.vectors)
    return op.emitOpError("expected a tile of at least 16 columns");
  auto [offset, first, column] = storeOrigin(op, tile);
  Value left = rowsLeft(op), matrix = stride(to, 0);
  offset = add(offset, mul(loops.at.row, matrix));
  first = scalar(op.getIndices()[to.type.getRank() - 2]);
  Fragment oneRow = tile;
  oneRow.rows = 1;
  OpBuilder::InsertionGuard guard(builder);
  for (int64_t r = 0; r < tile.rows; ++r) {
    OpBuilder::InsertionGuard rowGuard(builder);
    enterIf(compare(arith::CmpIPredicate::sgt, left, constant(r)));
    Value place = arith::ExtSIOp::create(builder, loc, indexType, places->at(r, 0));
    enterIf(compare(arith::CmpIPredicate::sge, place, constant(0)));
    Value row = add(first, place), start = add(offset, mul(matrix, r));
    if (to.type.getPanel()) {
      storePanelRow(tile, r, to, start, row, column);
      continue;
    }
    SmallVector<Address> where =
        BodyEmitter::places(to, start, row, column, oneRow, columnsOf(op.getTile().getType()));
    for (int64_t j = 0; j < tile.vectors; ++j)
      storeVector(tile.at(r, j), to, where[j]);
  }
  return success();
}

LogicalResult CpuEmitter::emitStore(StoreOp op) {
  const BoundView to = view(op.getView());
  FailureOr<Fragment> tile = use(op.getTile());
  if (failed(tile))
    return failure();
  if (op.getPlaces())
    return storeToPlaces(op, *tile, to);
  if (to.type.getPanel()) {
    auto [offset, first, column] = storeOrigin(op, *tile);
    return storeToPanels(op, *tile, to, offset, first, column);
  }
  SmallVector<Address> where = storePlaces(op, *tile);
  auto storeRow = [&](int64_t r) {
    for (int64_t j = 0; j < tile->columns(); ++j) {
      int64_t i = r * tile->columns() + j;
      if (tile->vectors)
        storeVector(tile->registers[i], to, where[i]);
      else
        storeScalar(tile->registers[i], to, where[i]);
    }
  };
  guardRows(rowsLeft(op), tile->rows, [&](std::optional<int64_t> single) {
    for (int64_t r = single.value_or(0); r < (single ? *single + 1 : tile->rows); ++r)
      storeRow(r);
  });
  return success();
}

//===- Stores into panels ------------------------------------------------===//

/// Element (row, c) lies at row / 16 * 16 * columns + c * 16 + row % 16. A whole fragment inside
/// one panel is transposed in registers, any other is stored element by element. For bf16, words of
/// two columns take the place of elements.
LogicalResult CpuEmitter::storeToPanels(StoreOp op, const Fragment &tile, const BoundView &to,
                                        Value offset, Value first, Value column) {
  if (!tile.vectors)
    return op.emitOpError("expected a tile of at least 16 columns for panels");
  if (!first)
    first = constant(0);
  Value left = rowsLeft(op);
  int64_t lanes = width / perWord(to);
  if (!llvm::isPowerOf2_64(tile.rows) || tile.rows == 1 || tile.rows > lanes) {
    storePanelElements(op, tile, to, offset, first, column, left);
    return success();
  }
  Value misaligned = arith::AndIOp::create(builder, loc, first, constant(tile.rows - 1));
  Value fits = compare(arith::CmpIPredicate::eq, misaligned, constant(0));
  if (left) {
    Value whole = compare(arith::CmpIPredicate::sge, left, constant(tile.rows));
    fits = arith::AndIOp::create(builder, loc, fits, whole);
  }
  auto branch = scf::IfOp::create(builder, loc, fits, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  int64_t panel = to.type.getPanel();
  Value inPanel = arith::AndIOp::create(builder, loc, first, constant(panel - 1));
  Address start =
      moved({offset, 0}, mul(sub(first, inPanel), padded(to.type.getDims().back().pitch.value)));
  start = moved(moved(start, mul(inPanel, perWord(to))), mul(column, panel));
  storePanelColumns(tile, to, start);
  builder.setInsertionPointToStart(branch.elseBlock());
  storePanelElements(op, tile, to, offset, first, column, left);
  return success();
}

/// Casts a register of narrow elements to words.
static Value inWords(OpBuilder &builder, Location loc, Value value, int64_t lanes) {
  auto type = VectorType::get({lanes}, builder.getI32Type());
  if (getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() == 32)
    return value;
  return vector::BitCastOp::create(builder, loc, type, value);
}

/// Transposes rows x lanes registers by log2(rows) rounds of interleaving; each cut of `rows`
/// elements is then a column.
void CpuEmitter::storePanelColumns(const Fragment &tile, const BoundView &to, Address start) {
  int64_t count = tile.rows, panel = to.type.getPanel() * perWord(to), lanes = width / perWord(to);
  for (int64_t j = 0; j < tile.vectors; ++j) {
    SmallVector<Value> vectors;
    for (int64_t r = 0; r < count; ++r)
      vectors.push_back(inWords(builder, loc, tile.at(r, j), lanes));
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes / 2; ++lane) {
      low.append({lane, lanes + lane});
      high.append({lanes / 2 + lane, lanes + lanes / 2 + lane});
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
    int64_t perVector = lanes / count;
    for (int64_t q = 0; q < count; ++q)
      for (int64_t cut = 0; cut < perVector; ++cut) {
        SmallVector<int64_t> chosen =
            llvm::to_vector(llvm::seq<int64_t>(cut * count, (cut + 1) * count));
        Value part = vector::ShuffleOp::create(builder, loc, vectors[q], vectors[q], chosen);
        storeVector(part, to, moved(start, Value(), (j * lanes + q * perVector + cut) * panel));
      }
  }
}

/// Stores row by row, because rows of the fragment may be in different panels.
void CpuEmitter::storePanelElements(StoreOp op, const Fragment &tile, const BoundView &to,
                                    Value offset, Value first, Value column, Value left) {
  OpBuilder::InsertionGuard guard(builder);
  for (int64_t r = 0; r < tile.rows; ++r) {
    OpBuilder::InsertionGuard rowGuard(builder);
    if (left)
      enterIf(compare(arith::CmpIPredicate::sgt, left, constant(r)));
    storePanelRow(tile, r, to, offset, inRing(op, add(first, constant(r))), column);
  }
}

/// Stores a row of the fragment to row `to` of panels, element by element.
void CpuEmitter::storePanelRow(const Fragment &tile, int64_t row, const BoundView &view,
                               Value offset, Value to, Value column) {
  int64_t panel = view.type.getPanel(), stored = padded(view.type.getDims().back().pitch.value);
  int64_t word = perWord(view), lanes = width / word;
  Value inPanel = arith::AndIOp::create(builder, loc, to, constant(panel - 1));
  Address start = moved(moved({offset, 0}, mul(sub(to, inPanel), stored)), mul(inPanel, word));
  start = moved(start, mul(column, panel));
  for (int64_t j = 0; j < tile.vectors; ++j) {
    Value words = inWords(builder, loc, tile.at(row, j), lanes);
    for (int64_t lane = 0; lane < lanes; ++lane)
      storeScalar(vector::ExtractOp::create(builder, loc, words, lane), view,
                  moved(start, Value(), (j * lanes + lane) * panel * word));
  }
}

//===- Tables ------------------------------------------------------------===//

/// A masked gather: lanes that are not valid read no memory.
Value CpuEmitter::loadElements(const BoundView &view, Value indices, Value valid) {
  auto type = dyn_cast<VectorType>(indices.getType());
  if (!type)
    return BodyEmitter::loadElements(view, indices, valid);
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value start = address(pointers[view.argument], {view.offset, 0}, builder.getF32Type());
  Value places = LLVM::GEPOp::create(builder, loc, VectorType::get(type.getShape(), pointer),
                                     builder.getF32Type(), start, ArrayRef<LLVM::GEPArg>{indices});
  auto elements = VectorType::get(type.getShape(), view.type.getElementType());
  Value zero =
      arith::ConstantOp::create(builder, loc, cast<TypedAttr>(builder.getZeroAttr(elements)));
  return LLVM::masked_gather::create(builder, loc, elements, places, valid, ValueRange{zero},
                                     /*alignment=*/4);
}

/// A masked load: consecutive indices need no gather.
Value CpuEmitter::loadNeighbours(const BoundView &view, Value indices, Value valid) {
  auto type = dyn_cast<VectorType>(indices.getType());
  if (!type)
    return loadElements(view, indices, valid);
  Value first = vector::ExtractOp::create(builder, loc, indices, 0);
  first = arith::ExtSIOp::create(builder, loc, indexType, first);
  Value start =
      address(pointers[view.argument], {add(view.offset, first), 0}, builder.getF32Type());
  auto elements = VectorType::get(type.getShape(), view.type.getElementType());
  Value zero =
      arith::ConstantOp::create(builder, loc, cast<TypedAttr>(builder.getZeroAttr(elements)));
  return LLVM::MaskedLoadOp::create(builder, loc, elements, start, valid, zero,
                                    builder.getI32IntegerAttr(4), UnitAttr());
}

/// Loads a vector at a time; lanes past the end keep the extremes found so far.
std::pair<Value, Value> CpuEmitter::rangeOfElements(const BoundView &view, Value from, Value to) {
  Type i32 = builder.getI32Type();
  auto type = VectorType::get({width}, i32);
  SmallVector<int32_t> numbers = llvm::to_vector(llvm::seq<int32_t>(0, width));
  Value lanes = arith::ConstantOp::create(builder, loc, DenseIntElementsAttr::get(type, numbers));
  Value first = splat(loadScalars(view, {add(view.offset, from), 0}, 1).front(), type);
  auto loop = scf::ForOp::create(builder, loc, from, to, constant(width), ValueRange{first, first});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value low = loop.getRegionIterArg(0), high = loop.getRegionIterArg(1);
  Value next = loadVector(view, {add(view.offset, loop.getInductionVar()), 0});
  Value left = arith::TruncIOp::create(builder, loc, i32, sub(to, loop.getInductionVar()));
  Value inside = compare(arith::CmpIPredicate::slt, lanes, splat(left, type));
  low = minimum(low, select(inside, next, low));
  high = maximum(high, select(inside, next, high));
  scf::YieldOp::create(builder, loc, ValueRange{low, high});
  builder.setInsertionPointAfter(loop);
  return {
      vector::ReductionOp::create(builder, loc, vector::CombiningKind::MINSI, loop.getResult(0)),
      vector::ReductionOp::create(builder, loc, vector::CombiningKind::MAXSI, loop.getResult(1))};
}
