//===- GpuEmitter.cpp - The body of an invocation -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements GpuEmitter: the columns of an invocation, the arguments, grid and parts of a
// kernel, and conditions, loads and stores.
#include "GpuEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::Address;
using heddle::kernel::BoundView;

namespace heddle {

GpuEmitter::GpuEmitter(OpBuilder &builder, kernel::FuncOp func, const GpuTarget &target,
                       GpuPlacement placement)
    : GpuOps(builder, builder.getI32Type(), /*width=*/4), target(target), placement(placement),
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

/// If the mapping holds no wide tiles in registers, loops over columns recompute the tiles that
/// they need.
bool GpuEmitter::recomputes(Operation &op) const {
  if (op.getNumResults() == 0 || op.getNumRegions())
    return false;
  auto tile = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  if (tile && isWide(tile))
    return isMemoryEffectFree(&op);
  if (op.getNumResults() > 1)
    return false;
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

/// Emits a chain of branches on the grid point of the last axis. This point is uniform in the
/// workgroup.
LogicalResult GpuEmitter::emitPartsFrom(ArrayRef<kernel::PartOp> parts, Value point) {
  kernel::PartOp part = parts.front();
  scalars[part.getIndex()] = mul(point, part.getTile());
  if (parts.size() == 1)
    return emitBlock(part.getBody().front());
  kernel::Size extent = part.getExtent();
  Value size = extent.isStatic() ? constant(extent.value) : entry.scalar(extent.name);
  Value tiles = quotient(add(size, constant(part.getTile() - 1)), part.getTile());
  Value rest = sub(point, tiles);
  Value here = less(point, tiles);
  auto branch = scf::IfOp::create(builder, loc, here, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  if (failed(emitBlock(part.getBody().front())))
    return failure();
  builder.setInsertionPointToStart(branch.elseBlock());
  return emitPartsFrom(parts.drop_front(), rest);
}

/// Emits an op. Scalars are words of the launch, and the entry point supplies them.
LogicalResult GpuEmitter::emitOp(Operation &op) {
  loc = op.getLoc();
  if (auto scalar = dyn_cast<kernel::ScalarOp>(op)) {
    scalars[scalar.getResult()] = entry.scalar(scalar.getName());
    return success();
  }
  if (std::optional<LogicalResult> emitted = scores.emit(op))
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

void GpuEmitter::replaceIf(Value condition, MutableArrayRef<Value> registers,
                           function_ref<void(MutableArrayRef<Value>)> replace) {
  auto branch = scf::IfOp::create(builder, loc, ValueRange(ArrayRef<Value>(registers)).getTypes(),
                                  condition, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> replaced(registers);
    replace(replaced);
    scf::YieldOp::create(builder, loc, replaced);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, ArrayRef<Value>(registers));
  }
  llvm::copy(branch.getResults(), registers.begin());
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

Value GpuEmitter::narrow(Value value, Type element) {
  if (element.isF16() && convertsHalves()) // its only use is a store, which rounds
    return value;
  if (element.isF16())
    return words.unpack(roundedHalves(value), element).first;
  return element.isBF16() ? asFloats(roundedWords(value)) : value;
}

//===- Loads and stores --------------------------------------------------===//

Value GpuEmitter::loadVector(const BoundView &view, Address place) {
  if (at.byElement)
    return loadScalars(view, place, 1).front();
  if (!GpuMemory::hasVec4(view.type))
    return vectorOf(loadScalars(view, place, width));
  if (perWord(view) == 1)
    return memory.loadVec4(view, place);
  if (perWord(view) == width)
    return words.unpackBytes(asWords(memory.loadWord(view, place)));
  Value first = memory.loadWord(view, place);
  Value second = memory.loadWord(view, moved(place, {}, 2));
  return words.unpackFour(first, second, view.type.getElementType());
}

SmallVector<Value> GpuEmitter::loadScalars(const BoundView &view, Address place, int64_t count) {
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i) {
    Value element = memory.elementAt(view, moved(place, {}, i));
    values.push_back(load(element));
  }
  return values;
}

void GpuEmitter::storeVector(Value value, const BoundView &view, Address place) {
  if (!GpuMemory::hasVec4(view.type)) {
    for (int64_t i = 0; i < width; ++i)
      storeScalar(extract(value, i), view, moved(place, {}, i));
    return;
  }
  if (perWord(view) == 1) {
    store(memory.vec4At(view, place), value);
    return;
  }
  if (view.type.getElementType().isInteger(8)) {
    store(memory.wordAt(view, place), words.packBytes(value));
    return;
  }
  auto [first, second] = words.packFour(value, view.type.getElementType());
  store(memory.wordAt(view, place), first);
  store(memory.wordAt(view, moved(place, {}, 2)), second);
}

void GpuEmitter::storeScalar(Value value, const BoundView &view, Address place) {
  store(memory.elementAt(view, place), value);
}

} // namespace heddle
