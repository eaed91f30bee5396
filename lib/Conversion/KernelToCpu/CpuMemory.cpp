//===- CpuMemory.cpp - Addresses and scratch ------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses and scratch of the generated code. Addresses are pointers with computed and constant
// offsets instead of memrefs. No alias information is attached, because a launch may pass the same
// buffer twice.

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

Value CpuEmitter::loadPanelWord(const BoundView &view, Address place) {
  assert(!view.offset && "a matrix in panels is a whole argument");
  const Type word = builder.getI32Type();
  return loadAt(pointers[view.argument], place, word, word);
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

//===- Tables ------------------------------------------------------------===//

/// A masked gather; invalid lanes read no memory.
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

/// A masked load, because the indices are consecutive.
Value CpuEmitter::loadNeighbors(const BoundView &view, Value indices, Value valid) {
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

/// Loads a vector at a time; lanes past the end keep their current extremes.
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
