//===- ProgramPlannerSession.cpp - State of the session -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dimensions that the session keeps, and conditions that a call must meet.

#include "ProgramPlanner.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::GroupOp;

/// Gives a state its size after the call; returns the dimension that changes.
std::string ProgramPlanner::setRows(StateOp state, const SizeExpr &rows) {
  Shape dims = dimsFromAttr(state.getDims());
  std::string batch = dims[0].dimName();
  PlannedTensor place = statePlace(func, state.getSymName(), dims);
  place.buffer.getDefiningOp<kernel::BufferOp>().change(
      [&](Buffer &b) { b.elements = b.elements.substitute({{batch, rows}}); });
  return batch;
}

static void addOnce(std::vector<std::string> &names, const std::string &name) {
  if (!llvm::is_contained(names, name))
    names.push_back(name);
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
      update(dims[2].dimName(), dims[2] + rows[2]);
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
  func.walk([&](CacheAppendOp append) {
    auto state =
        SymbolTable::lookupNearestSymbolFrom<StateOp>(func, append.getStateAttr().getAttr());
    if (auto capacity = state.getCapacity()) {
      SmallVector<SizeExpr> dims = stateDims(append.getState());
      check(Check::Kind::AtMost, dims[2] + shapes.of(append.getRows())[2],
            static_cast<int64_t>(*capacity),
            func.getSymName() + ": expected at most {right} steps, found step {left}");
    }
  });
}
