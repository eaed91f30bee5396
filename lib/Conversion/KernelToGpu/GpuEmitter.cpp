//===- GpuEmitter.cpp - Columns and memory of an invocation ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements GpuEmitter: columns of invocations, arguments and grid of a
// kernel, parts, conditions, and accesses to memory. Buffers are arrays of vec4. Element
// addresses are divided by four where all of them are multiples of four.
#include "GpuEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::Address;
using heddle::kernel::BoundView;

namespace heddle {

GpuEmitter::GpuEmitter(OpBuilder &builder, kernel::FuncOp func, const GpuTarget &target,
                       GpuPlacement placement)
    : BodyEmitter(builder, builder.getI32Type(), /*width=*/4), target(target), placement(placement),
      entry(builder, func, target), mapping(GpuMapping::create(*this)), func(func) {
  loc = func.getLoc();
  at.rows = placement.rows;
}

GpuEmitter::~GpuEmitter() = default;

int64_t GpuEmitter::fragmentVectors(int64_t tileColumns) const {
  if (at.byElement)
    return 1;
  return at.vectors ? at.vectors : mapping->vectorsOf(tileColumns);
}

bool GpuEmitter::isWide(RankedTensorType type) const {
  return !mapping->holdsTiles() && type.getDimSize(1) > 1;
}

/// Where registers hold no wide tiles, loops over columns recompute the tiles that they need.
bool GpuEmitter::recomputes(Operation &op) const {
  if (op.getNumResults() != 1 || op.getNumRegions())
    return false;
  auto tile = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  if (tile && isWide(tile))
    return isMemoryEffectFree(&op);
  if (tile && (at.byElement ? elements.holds(op.getResult(0)) : elements.serves(op)))
    return true;
  return BodyEmitter::recomputes(op);
}

FailureOr<kernel::Fragment> GpuEmitter::materialize(Value tile) {
  if (const kernel::Fragment *part = runs.sliced(tile))
    return *part;
  return BodyEmitter::materialize(tile);
}

//===- The kernel around its body ----------------------------------------===//

void GpuEmitter::bindArguments() {
  auto number = [&](const kernel::Size &size) {
    return size.isStatic() ? constant(size.value) : entry.scalar(size.name);
  };
  for (int64_t i = 0; i < func.getNumViews(); ++i) {
    Value argument = func.getView(i);
    BoundView view = bindView(argument, cast<kernel::ViewType>(argument.getType()), i, number);
    view.offset = mul(entry.argumentStart(i), perWord(view));
    views[argument] = view;
  }
  for (int64_t axis = 0; axis < func.getNumAxes(); ++axis)
    scalars[func.getGridIndex(axis)] = mul(entry.gridPoint(axis), func.getGridTiles()[axis]);
  mapping->placeInvocation();
  at.firstRow = mapping->firstRow();
}

LogicalResult GpuEmitter::run() {
  builder.setInsertionPoint(func);
  if (LogicalResult begun = entry.begin(placement.invocations(), mapping->readsApart());
      failed(begun))
    return begun;
  bindArguments();
  mapping->begin(func);
  LogicalResult body = func.hasParts() ? emitParts() : emitBlock(func.getBody().front());
  return failed(body) ? body : entry.finish();
}

LogicalResult GpuEmitter::emitParts() {
  SmallVector<kernel::PartOp> parts(func.getBody().front().getOps<kernel::PartOp>());
  return emitPartsFrom(parts, entry.gridPoint(func.getNumAxes()));
}

/// Emits a chain of branches on the grid point of the last axis, which is uniform in the workgroup.
LogicalResult GpuEmitter::emitPartsFrom(ArrayRef<kernel::PartOp> parts, Value point) {
  kernel::PartOp part = parts.front();
  scalars[part.getIndex()] = mul(point, part.getTile());
  if (parts.size() == 1)
    return emitBlock(part.getBody().front());
  kernel::Size extent = part.getExtent();
  Value size = extent.isStatic() ? constant(extent.value) : entry.scalar(extent.name);
  Value tiles = arith::DivUIOp::create(builder, loc, add(size, constant(part.getTile() - 1)),
                                       constant(part.getTile()));
  Value rest = sub(point, tiles);
  Value here = compare(arith::CmpIPredicate::slt, point, tiles);
  auto branch = scf::IfOp::create(builder, loc, here, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  if (failed(emitBlock(part.getBody().front())))
    return failure();
  builder.setInsertionPointToStart(branch.elseBlock());
  return emitPartsFrom(parts.drop_front(), rest);
}

/// Scalars are words of the launch, which the entry point supplies.
LogicalResult GpuEmitter::emitOp(Operation &op) {
  loc = op.getLoc();
  if (auto scalar = dyn_cast<kernel::ScalarOp>(op)) {
    scalars[scalar.getResult()] = entry.scalar(scalar.getName());
    return success();
  }
  if (std::optional<LogicalResult> emitted = emitScores(op))
    return *emitted;
  if (mapping->takes(op))
    return mapping->emitElementwise(op);
  return BodyEmitter::emitOp(op);
}

//===- Windows of tables ------------------------------------------------===//

/// Rows outside the window are read as a row inside it and are not stored.
std::pair<Value, Value> GpuEmitter::gatherableRows(const BoundView &table) {
  auto [first, last] = BodyEmitter::gatherableRows(table);
  if (!entry.gathersFrom(table.argument))
    return {first, last};
  auto [from, count] = entry.rowsInWindow();
  return {from, minimum(last, sub(add(from, count), constant(1)))};
}

FailureOr<SmallVector<Value>> GpuEmitter::rowsInWindow() {
  SmallVector<Value> inside;
  Value rows = entry.gatheredRows();
  if (!rows)
    return inside;
  FailureOr<kernel::Fragment> numbers = use(rows);
  if (failed(numbers))
    return failure();
  auto [first, count] = entry.rowsInWindow();
  for (int64_t row = 0; row < numbers->rows; ++row)
    inside.push_back(compare(arith::CmpIPredicate::ult, sub(numbers->at(row, 0), first), count));
  return inside;
}

//===- Conditions --------------------------------------------------------===//

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

void GpuEmitter::noteRows(Value condition) {
  rowsExist = condition;
  rowsKnownIn = builder.getInsertionBlock();
}

/// Invocations whose rows do not exist skip the loop, which contains no barrier.
Value GpuEmitter::unlessMissing(Value end) {
  Block *here = builder.getInsertionBlock();
  if (!rowsExist ||
      (rowsKnownIn != here && !rowsKnownIn->findAncestorOpInBlock(*here->getParentOp())))
    return end;
  return select(rowsExist, end, constant(0));
}

//===- Tiles computed by element ---------------------------------------===//

LogicalResult GpuEmitter::emitPredicate(kernel::MaskOp op, SmallVectorImpl<Value> &truth) {
  return elements.takesPredicate(op) ? elements.emitPredicate(op, truth)
                                     : BodyEmitter::emitPredicate(op, truth);
}

LogicalResult GpuEmitter::emitLookup(kernel::LookupOp op) {
  return elements.takes(*op) ? elements.emit(*op) : BodyEmitter::emitLookup(op);
}

LogicalResult GpuEmitter::emitLoad(kernel::LoadOp op) {
  return elements.takes(*op) ? elements.emit(*op) : BodyEmitter::emitLoad(op);
}

//===- Memory ------------------------------------------------------------===//

/// The shift is emitted once, directly after the definition of `elements`.
Value GpuEmitter::inGroups(Value elements, int64_t shift) {
  Value &found = groups[{elements, shift}];
  if (!found) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(elements);
    found = arith::ShRUIOp::create(builder, loc, elements, constant(shift));
  }
  return found;
}

bool GpuEmitter::hasVec4(kernel::ViewType type) {
  return !type.holdsIndices() && (type.getRank() == 1 || type.getDims().back().pitch.isStatic());
}

Value GpuEmitter::elementIndex(Address place) {
  return place.dynamic ? add(place.dynamic, constant(place.constant)) : constant(place.constant);
}

Value GpuEmitter::vec4At(const BoundView &view, Address place) {
  return entry.vec4(view.argument, quadOf(view, place));
}

Value GpuEmitter::quadOf(int64_t perWord, Address place) {
  int64_t elements = 4 * perWord, shift = llvm::Log2_64(elements);
  assert(place.constant % elements == 0 && "vec4s lie on multiples of four words");
  Value index = constant(place.constant / elements);
  if (place.dynamic)
    index = add(inGroups(place.dynamic, shift), index);
  return index;
}

Value GpuEmitter::wordAt(const BoundView &view, Address place) {
  int64_t word = perWord(view);
  Value index = constant(place.constant / word);
  if (place.dynamic)
    index = add(word == 1 ? place.dynamic : inGroups(place.dynamic, llvm::Log2_64(word)), index);
  return entry.element(view.argument, index);
}

//===- bf16, f16, i8 -----------------------------------------------------===//

Value GpuEmitter::narrow(Value value, Type element) {
  if (element.isF16())
    return unpackedWords(roundedHalves(value), element).first;
  return element.isBF16() ? asFloats(roundedWords(value)) : value;
}

std::pair<Value, Value> GpuEmitter::unpackedWords(Value words, Type element) {
  if (!element.isF16())
    return halvesOf(words);
  Type type = words.getType();
  Value even = arith::AndIOp::create(builder, loc, words, wordConstant(0xffff, type));
  Value odd = arith::ShRUIOp::create(builder, loc, words, wordConstant(16, type));
  auto [low, high] = unpackedByDevice(words);
  Value kept = splat(entry.keepsHalves(), withElement(type, builder.getI1Type()));
  return {select(kept, low, widenedHalves(even)), select(kept, high, widenedHalves(odd))};
}

/// Unpacks words by an instruction that flushes denormals of f16 on some devices.
std::pair<Value, Value> GpuEmitter::unpackedByDevice(Value words) {
  Type floats = withElement(words.getType(), builder.getF32Type()),
       pair = VectorType::get({2}, builder.getF32Type());
  auto vector = dyn_cast<VectorType>(words.getType());
  SmallVector<Value> low, high;
  for (int64_t lane = 0; lane < (vector ? vector.getDimSize(0) : 1); ++lane) {
    Value word = vector ? vector::ExtractOp::create(builder, loc, words, lane).getResult() : words;
    Value both = spirv::GLUnpackHalf2x16Op::create(builder, loc, pair, word);
    low.push_back(vector::ExtractOp::create(builder, loc, both, 0));
    high.push_back(vector::ExtractOp::create(builder, loc, both, 1));
  }
  if (!vector)
    return {low.front(), high.front()};
  return {vector::FromElementsOp::create(builder, loc, cast<VectorType>(floats), low),
          vector::FromElementsOp::create(builder, loc, cast<VectorType>(floats), high)};
}

Value GpuEmitter::byteAsFloat(Value words, int64_t byte, bool isSigned) {
  Value &known = floatBytes[{words, 2 * byte + isSigned}];
  if (known)
    return known;
  Type type = withElement(words.getType(), builder.getF32Type());
  Value integer = byteOf(words, byte, isSigned);
  if (isSigned)
    return known = arith::SIToFPOp::create(builder, loc, type, integer);
  return known = arith::UIToFPOp::create(builder, loc, type, integer);
}

Value GpuEmitter::unpackFour(Value first, Value second, Type element) {
  SmallVector<Value> elements;
  for (Value word : {first, second}) {
    auto [even, odd] = unpackedWords(asWords(word), element);
    elements.append({even, odd});
  }
  return vector::FromElementsOp::create(builder, loc, vec4Type(), elements);
}

std::pair<Value, Value> GpuEmitter::packFour(Value value, Type element) {
  Value words = element.isF16() ? roundedHalves(value) : asWords(value);
  auto word = [&](int64_t first) -> Value {
    Value even = vector::ExtractOp::create(builder, loc, words, first),
          odd = vector::ExtractOp::create(builder, loc, words, first + 1);
    if (element.isF16())
      odd = arith::ShLIOp::create(builder, loc, odd, constant(16));
    else
      even = arith::ShRUIOp::create(builder, loc, even, constant(16));
    return asFloats(arith::OrIOp::create(builder, loc, odd, even));
  };
  return {word(0), word(2)};
}

/// The word is stored as a float but never used as one.
Value GpuEmitter::packBytes(Value value) {
  Value word;
  for (int64_t lane = 0; lane < width; ++lane) {
    Value code = vector::ExtractOp::create(builder, loc, value, lane);
    if (lane < 3) // the shift drops the high bytes of the last
      code = arith::AndIOp::create(builder, loc, code, constant(0xff));
    if (lane)
      code = arith::ShLIOp::create(builder, loc, code, constant(8 * lane));
    word = word ? arith::OrIOp::create(builder, loc, word, code).getResult() : code;
  }
  return asFloats(word);
}

Value GpuEmitter::bytesOf(Value word) {
  SmallVector<Value> bytes;
  for (int64_t byte = 0; byte < width; ++byte)
    bytes.push_back(byteOf(word, byte, /*isSigned=*/true));
  return vector::FromElementsOp::create(builder, loc,
                                        VectorType::get({width}, builder.getI32Type()), bytes);
}

Value GpuEmitter::decoded(Value codes, Value scale) {
  Value numbers = arith::SIToFPOp::create(builder, loc, scale.getType(), codes);
  return arith::MulFOp::create(builder, loc, numbers, scale);
}

//===- Loads and stores --------------------------------------------------===//

Value GpuEmitter::loadVector(const BoundView &view, Address place) {
  if (at.byElement)
    return loadScalars(view, place, 1).front();
  if (!hasVec4(view.type))
    return vector::FromElementsOp::create(builder, loc,
                                          VectorType::get({width}, view.type.getElementType()),
                                          loadScalars(view, place, width));
  if (perWord(view) == 1)
    return spirv::LoadOp::create(builder, loc, vec4At(view, place));
  if (perWord(view) == width)
    return bytesOf(asWords(spirv::LoadOp::create(builder, loc, wordAt(view, place))));
  Value first = spirv::LoadOp::create(builder, loc, wordAt(view, place));
  Value second = spirv::LoadOp::create(builder, loc, wordAt(view, moved(place, {}, 2)));
  return unpackFour(first, second, view.type.getElementType());
}

SmallVector<Value> GpuEmitter::loadScalars(const BoundView &view, Address place, int64_t count) {
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i) {
    Value index = elementIndex(moved(place, {}, i));
    values.push_back(spirv::LoadOp::create(builder, loc, entry.element(view.argument, index)));
  }
  return values;
}

void GpuEmitter::storeVector(Value value, const BoundView &view, Address place) {
  if (!hasVec4(view.type)) {
    for (int64_t i = 0; i < width; ++i)
      storeScalar(vector::ExtractOp::create(builder, loc, value, i), view, moved(place, {}, i));
    return;
  }
  if (perWord(view) == 1) {
    spirv::StoreOp::create(builder, loc, vec4At(view, place), value);
    return;
  }
  if (view.type.getElementType().isInteger(8)) {
    spirv::StoreOp::create(builder, loc, wordAt(view, place), packBytes(value));
    return;
  }
  auto [first, second] = packFour(value, view.type.getElementType());
  spirv::StoreOp::create(builder, loc, wordAt(view, place), first);
  spirv::StoreOp::create(builder, loc, wordAt(view, moved(place, {}, 2)), second);
}

void GpuEmitter::storeScalar(Value value, const BoundView &view, Address place) {
  spirv::StoreOp::create(builder, loc, entry.element(view.argument, elementIndex(place)), value);
}

} // namespace heddle
