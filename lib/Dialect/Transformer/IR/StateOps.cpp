//===- StateOps.cpp - States of a session ---------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of states and of the ops that refer to them.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

//===- state -------------------------------------------------------------===//

StringRef StateOp::getDimName(int64_t i) {
  auto name = dyn_cast<StringAttr>(getDims()[i]);
  return name ? name.getValue() : StringRef();
}

/// C2 of state for dimension `i`.
static LogicalResult verifyDimEntry(StateOp op, int64_t i) {
  int64_t size = op.getTensorType().getDimSize(i);
  Attribute entry = op.getDims()[i];
  if (ShapedType::isDynamic(size)) {
    if (op.getDimName(i).empty())
      return op.emitOpError("C2: dimension ")
             << i << " of the type is dynamic: expected a name in dims, found " << entry;
    if (!heddle::transformer::detail::isDimName(op.getDimName(i)))
      return op.emitOpError("C2: dimension ")
             << i << " of dims: expected " << heddle::transformer::detail::dimName << ", found "
             << entry;
    return success();
  }
  auto number = dyn_cast<IntegerAttr>(entry);
  if (!number || number.getInt() != size)
    return op.emitOpError("C2: dimension ")
           << i << " of the type is " << size << ": expected it in dims, found " << entry;
  return success();
}

LogicalResult StateOp::verify() {
  RankedTensorType type = getTensorType();
  if (static_cast<int64_t>(getDims().size()) != type.getRank())
    return emitOpError("C1: expected ")
           << type.getRank() << " entries in dims, one a dimension, found " << getDims().size();
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (LogicalResult checked = verifyDimEntry(*this, i); failed(checked))
      return checked;
  if (std::optional<uint64_t> capacity = getCapacity()) {
    if (type.getRank() < 3 || type.getRank() > 4 || !type.isDynamicDim(2))
      return emitOpError("C3: expected a state with a capacity to have rank 4, or rank 3 of "
                         "scales, and a dynamic dimension 2, found ")
             << type;
    if (static_cast<int64_t>(*capacity) <= 0)
      return emitOpError("C3: expected a positive capacity, found ")
             << static_cast<int64_t>(*capacity);
  }
  if (std::optional<uint64_t> window = getWindow();
      window && (!getCapacity() || static_cast<int64_t>(*window) <= 0))
    return emitOpError("C5: expected a positive window with a capacity, found ")
           << static_cast<int64_t>(*window) << (getCapacity() ? "" : " without one");
  if (type.getRank() == 0 || !type.isDynamicDim(0))
    return emitOpError("C4: expected a dynamic dimension 0 (batch), found ") << type;
  return success();
}

//===- Users of states ---------------------------------------------------===//

static StateOp lookup(Operation *op, FlatSymbolRefAttr name) {
  return SymbolTable::lookupNearestSymbolFrom<StateOp>(op, name);
}

StateOp StateSetOp::lookupState() { return lookup(*this, getStateAttr()); }
StateOp StateGetOp::lookupState() { return lookup(*this, getStateAttr()); }
StateOp CacheAppendOp::lookupState() { return lookup(*this, getStateAttr()); }

StringAttr heddle::transformer::stateOf(Value value) {
  if (auto get = value.getDefiningOp<StateGetOp>())
    return get.getStateAttr().getAttr();
  if (auto append = value.getDefiningOp<CacheAppendOp>())
    return append.getStateAttr().getAttr();
  return {};
}

llvm::DenseMap<StringAttr, StateOp> heddle::transformer::statesOf(ModuleOp module) {
  llvm::DenseMap<StringAttr, StateOp> states;
  for (auto state : module.getOps<StateOp>())
    states[state.getSymNameAttr()] = state;
  return states;
}

void StateGetOp::inferShapes(SymbolicShapes &shapes) {
  shapes.set(getResult(), shapes.ofState(getStateAttr().getAttr()));
}

void StateSetOp::inferShapes(SymbolicShapes &shapes) {
  for (auto [a, b] : llvm::zip(shapes.ofState(getStateAttr().getAttr()), shapes.of(getValue())))
    shapes.require(a, b, "state " + getState().str());
}

void CacheAppendOp::inferShapes(SymbolicShapes &shapes) {
  Shape content = shapes.ofState(getStateAttr().getAttr());
  const Shape &added = shapes.of(getRows());
  content[0] = added[0];
  if (getAt()) // the named length is the maximum over all sequences after the call
    shapes.countRows(content[2].dimName());
  else
    content[2] = content[2] + added[2];
  for (Value each : {getAt(), getCount()})
    if (each)
      shapes.require(shapes.of(each)[0], added[0],
                     "what is counted for each sequence, and the batch");
  shapes.set(getResult(), std::move(content));
}

void CacheAppendOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  if (operand.get() == getCount())
    limits.addBelow(limits.shapes.of(getRows())[2] + 1);
}

void CacheLengthOp::inferShapes(SymbolicShapes &shapes) {
  shapes.set(getResult(), Shape{SizeExpr::dim(getDim().str())});
}

/// C1 of all ops that refer to states: the symbol is a state.
static FailureOr<StateOp> findState(Operation *op, FlatSymbolRefAttr name,
                                    SymbolTableCollection &symbols) {
  if (auto state = symbols.lookupNearestSymbolFrom<StateOp>(op, name))
    return state;
  return op->emitOpError("C1: expected the name of a transformer.state, found ") << name;
}

LogicalResult StateSetOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<StateOp> state = findState(*this, getStateAttr(), symbols);
  if (failed(state))
    return state;
  if (state->getCapacity())
    return emitOpError("C2: expected a state without a capacity, found ")
           << getStateAttr() << "; use transformer.cache.append";
  if (getValue().getType() != state->getTensorType())
    return emitOpError("C3: expected value of the state's type ")
           << state->getTensorType() << ", found " << getValue().getType();
  return success();
}

LogicalResult StateGetOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<StateOp> state = findState(*this, getStateAttr(), symbols);
  if (failed(state))
    return state;
  if (getResult().getType() != state->getTensorType())
    return emitOpError("C2: expected a result of the state's type ")
           << state->getTensorType() << ", found " << getResult().getType();
  return success();
}

/// C2 of cache.append: new rows have the state's type, except for their number.
static LogicalResult verifyRows(CacheAppendOp op, StateOp state) {
  static constexpr StringLiteral names[] = {"batch", "heads", "rows", "features"};
  auto rows = cast<RankedTensorType>(op.getRows().getType());
  if (rows.getRank() != state.getTensorType().getRank())
    return op.emitOpError("C2: expected rows of the state's rank ")
           << state.getTensorType().getRank() << ", found " << rows;
  for (int64_t i = 0; i < rows.getRank(); ++i) {
    if (i == 2)
      continue;
    int64_t have = rows.getDimSize(i), want = state.getTensorType().getDimSize(i);
    if (!ShapedType::isDynamic(have) && !ShapedType::isDynamic(want) && have != want)
      return op.emitOpError("C2: expected ")
             << names[i] << " of rows equal to the state's " << want << ", found " << have;
  }
  int64_t capacity = *state.getCapacity();
  if (!rows.isDynamicDim(2) && rows.getDimSize(2) > capacity)
    return op.emitOpError("C2: expected at most ")
           << capacity << " rows, the capacity, found " << rows.getDimSize(2);
  return success();
}

LogicalResult CacheAppendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<StateOp> state = findState(*this, getStateAttr(), symbols);
  if (failed(state))
    return state;
  if (!state->getCapacity())
    return emitOpError("C1: expected a state with a capacity, found ")
           << getStateAttr() << "; use transformer.state.set";
  if (LogicalResult checked = verifyRows(*this, *state); failed(checked))
    return checked;
  if (getResult().getType() != state->getTensorType())
    return emitOpError("C3: expected a result of the state's type ")
           << state->getTensorType() << ", found " << getResult().getType();
  if (getCount() && !getAt())
    return emitOpError("C4: expected at(...) with count(...), found none");
  if (state->getWindow() && !getAt())
    return emitOpError("C5: expected at(...) for the state ")
           << getStateAttr() << ", which has a window, found none";
  return success();
}

/// C1 of cache.length and cache.clear: a state of the module has this length.
static LogicalResult verifyLength(Operation *op, StringAttr dim) {
  Operation *table = SymbolTable::getNearestSymbolTable(op);
  for (auto state : table->getRegion(0).getOps<StateOp>())
    if (state.getCapacity() && state.getDims().size() > 2 &&
        state.getLengthName() == dim.getValue())
      return success();
  return op->emitOpError("C1: expected the length of a transformer.state with a capacity, found ")
         << dim;
}

LogicalResult CacheLengthOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyLength(*this, getDimAttr());
}
LogicalResult CacheClearOp::verifySymbolUses(SymbolTableCollection &) {
  if (LogicalResult checked = verifyLength(*this, getDimAttr()); failed(checked) || !getPads())
    return checked;
  if (!getRows())
    return emitOpError("C2: expected rows(...) with pads ") << getPadsAttr() << ", found none";
  Operation *table = SymbolTable::getNearestSymbolTable(*this);
  for (auto state : table->getRegion(0).getOps<StateOp>())
    if (!state.getCapacity() &&
        llvm::is_contained(state.getDims().getValue().drop_front(), Attribute(getPadsAttr())))
      return success();
  return emitOpError("C2: expected pads to be a dimension of a transformer.state without a "
                     "capacity, found ")
         << getPadsAttr();
}
