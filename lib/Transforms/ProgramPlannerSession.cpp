//===- ProgramPlannerSession.cpp - State of the session -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dimensions that the session keeps, and conditions that calls must meet.

#include "ProgramPlanner.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::GroupOp;

/// Sets the size of a state after the call, and returns the dimension that changes.
std::string ProgramPlanner::setRows(StateOp state, const SizeExpr &rows) {
  Shape dims = dimsFromAttr(state.getDims());
  std::string batch = dims[0].dimName();
  PlannedTensor place = statePlace(state.getSymName(), dims);
  place.buffer.getDefiningOp<kernel::BufferOp>().change(
      [&](Buffer &b) { b.elements = b.elements.substitute({{batch, rows}}); });
  return batch;
}

Value heddle::outside(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto group = argument ? dyn_cast<GroupOp>(argument.getOwner()->getParentOp()) : GroupOp();
  return group ? group->getOperand(argument.getArgNumber()) : value;
}

/// Returns the length whose rows per sequence an argument of the function counts, or an empty
/// string.
static std::string countedLength(func::FuncOp func, Value value) {
  auto argument = dyn_cast_or_null<BlockArgument>(outside(value));
  auto fallback = argument && isa<func::FuncOp>(argument.getOwner()->getParentOp())
                      ? defaultFromAttr(func.getArgAttr(argument.getArgNumber(),
                                                        TransformerDialect::defaultAttr))
                      : std::nullopt;
  return fallback && fallback->kind == DefaultInput::Kind::RowsBefore ? fallback->source : "";
}

std::string heddle::lengthOf(func::FuncOp func, Value offset) {
  if (auto length = outside(offset).getDefiningOp<CacheLengthOp>())
    return length.getDim().str();
  return countedLength(func, offset);
}

/// Checks an append to sequences with individual numbers of rows: all appends of a function must
/// count the same rows.
static LogicalResult checkAppend(func::FuncOp func, CacheAppendOp append, CacheAppendOp first,
                                 StringRef length) {
  if (countedLength(func, append.getAt()) != length)
    return append.emitOpError("at: expected an argument with the default {rows_before = \"")
           << length << "\"}, found another value";
  if (append.getCount() && !isa<BlockArgument>(outside(append.getCount())))
    return append.emitOpError("count: expected an argument, found another value");
  bool alike = bool(first.getCount()) == bool(append.getCount()) &&
               outside(first.getAt()) == outside(append.getAt());
  if (!alike || (first.getCount() && outside(first.getCount()) != outside(append.getCount())))
    return append.emitOpError("expected at(...) and count(...) as other appends of the function "
                              "have them, found others");
  return success();
}

LogicalResult heddle::checkCounts(func::FuncOp func) {
  SmallVector<CacheAppendOp> each, all;
  func.walk([&](CacheAppendOp append) { (append.getAt() ? each : all).push_back(append); });
  const llvm::DenseMap<StringAttr, StateOp> states = statesOf(func->getParentOfType<ModuleOp>());
  for (CacheAppendOp append : each)
    if (StateOp state = states.lookup(append.getStateAttr().getAttr());
        failed(checkAppend(func, append, each.front(), state.getLengthName())))
      return failure();
  for (CacheAppendOp append : all)
    if (!each.empty())
      return append.emitOpError(
          "expected at(...) as other appends of the function have it, found none");
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (auto fallback = defaultFromAttr(func.getArgAttr(i, TransformerDialect::defaultAttr));
        fallback && fallback->isKept() &&
        (each.empty() || each.front().lookupState().getLengthName() != fallback->source))
      return func.emitOpError("argument ")
             << i << ": expected a transformer.cache.append with at(...) to the length "
             << fallback->source << ", whose rows it counts, found none";
  WalkResult positions = func.walk([&](Operation *op) {
    Value offset = TypeSwitch<Operation *, Value>(op)
                       .Case<PositionLearnedOp, PositionSinusoidalOp, RotaryOp>(
                           [](auto position) { return position.getOffset(); })
                       .Default(Value());
    if (!offset || !lengthOf(func, offset).empty())
      return WalkResult::advance();
    op->emitOpError("offset: expected a transformer.cache.length or an argument with the default "
                    "rows_before, found another number, which is not supported yet");
    return WalkResult::interrupt();
  });
  return failure(positions.wasInterrupted());
}

static void addOnce(std::vector<std::string> &names, const std::string &name) {
  if (!llvm::is_contained(names, name))
    names.push_back(name);
}

/// Records the rows of a cache that does not keep all of them.
static void keepRing(StateOp state, Function &info) {
  const int64_t ring = ringOf(state);
  if (ring == 0)
    return;
  const int64_t spare = ring - (static_cast<int64_t>(*state.getWindow()) - 1);
  info.keptRows = info.keptRows ? std::min(info.keptRows, ring) : ring;
  info.spareRows = info.spareRows ? std::min(info.spareRows, spare) : spare;
}

/// Records the dimensions that outlive the call, and their updates.
void ProgramPlanner::planSession() {
  Function info;
  auto update = [&](const std::string &name, const SizeExpr &value) {
    if (llvm::none_of(info.updates, [&](const auto &entry) { return entry.first == name; }))
      info.updates.push_back({name, value});
  };
  auto keep = [&](StringRef symbol) {
    for (const SizeExpr &dim : stateDims(symbol))
      if (!dim.isConstant())
        addOnce(info.stateDims, dim.dimName());
  };
  func.walk([&](Operation *op) {
    if (auto append = dyn_cast<CacheAppendOp>(op)) {
      keep(append.getState());
      SmallVector<SizeExpr> dims = stateDims(append.getState());
      Shape rows = shapes.of(append.getRows());
      if (append.getAt()) {
        info.appendsTo = dims[2].dimName();
        info.appends = rows[2];
        keepRing(stateNamed(append.getState()), info);
        if (append.getCount())
          info.appendsBy =
              argumentName(cast<BlockArgument>(outside(append.getCount())).getArgNumber());
      } else {
        update(dims[2].dimName(), dims[2] + rows[2]);
      }
      if (!dims[0].isConstant()) // later calls have the same batch
        update(dims[0].dimName(), rows[0]);
    } else if (auto get = dyn_cast<StateGetOp>(op)) {
      keep(get.getState());
    } else if (auto set = dyn_cast<StateSetOp>(op)) {
      for (auto [dim, size] : llvm::zip(stateDims(set.getState()), shapes.of(set.getValue())))
        if (!dim.isConstant())
          update(dim.dimName(), size);
    } else if (auto clear = dyn_cast<CacheClearOp>(op)) {
      update(clear.getDim().str(), 0);
      info.startsStates = true;
      if (clear.getRows())
        info.replaceBy = argumentName(cast<BlockArgument>(clear.getRows()).getArgNumber());
      info.pads = clear.getPads().value_or("").str();
    } else if (auto reorder = dyn_cast<CacheReorderOp>(op)) {
      auto argument = cast<BlockArgument>(reorder.getParents());
      info.reorderBy = argumentName(argument.getArgNumber());
      func->getParentOfType<ModuleOp>().walk([&](StateOp state) {
        keep(state.getSymName());
        update(setRows(state, shapes.of(argument)[0]), shapes.of(argument)[0]);
      });
    } else {
      return;
    }
    info.needsSession = true;
  });
  for (const std::string &dim : shapes.dims())
    addOnce(info.dims, dim);
  program.setInfoAttr(kernel::FunctionAttr::get(b.getContext(), std::move(info)));
}

/// Adds each condition once: equalities of shapes, limits of arguments, capacities of caches.
void ProgramPlanner::addChecks() {
  llvm::StringSet<> seen;
  auto check = [&](Check::Kind relation, const SizeExpr &left, const SizeExpr &right,
                   const Twine &message) {
    if (seen.insert(left.str() + "|" + right.str()).second)
      kernel::CheckOp::create(
          b, func.getLoc(),
          kernel::CheckAttr::get(b.getContext(), {relation, left, right, message.str()}));
  };
  SmallVector<ShapeEquality> all(shapes.equalities());
  all.append(limitChecks);
  for (const ShapeEquality &e : all)
    check(e.atMost ? Check::Kind::AtMost : Check::Kind::Equal, e.left, e.right,
          func.getSymName() + ": " + e.what + ": expected " + e.left.str() +
              (e.atMost ? " <= " : " = ") + e.right.str() + ", found {left} and {right}");
  Function ring;
  SizeExpr appended = 0;
  func.walk([&](CacheAppendOp append) {
    StateOp state = stateNamed(append.getState());
    if (auto capacity = state.getCapacity()) {
      check(Check::Kind::AtMost, shapes.of(append.getResult())[2], static_cast<int64_t>(*capacity),
            func.getSymName() + ": expected at most {right} tokens in the caches, found {left}");
    }
    keepRing(state, ring);
    if (ring.spareRows)
      appended = shapes.of(append.getRows())[2];
  });
  if (ring.spareRows)
    check(Check::Kind::AtMost, appended, ring.spareRows,
          func.getSymName() + ": expected at most {right} tokens in one call, since caches keep "
                              "those of a window alone, found {left}");
  func.walk([&](PositionLearnedOp op) { // individual offsets have no symbolic expression
    if (Value offset = op.getOffset(); offset && isa<ShapedType>(offset.getType()))
      check(Check::Kind::AtMost, SizeExpr::dim(lengthOf(func, offset)),
            op.getTable().getType().getDimSize(0),
            func.getSymName() +
                ": expected at most {right} rows, which the table of positions has, found {left}");
  });
}
