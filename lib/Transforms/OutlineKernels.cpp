//===- OutlineKernels.cpp - Outlining of groups ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass `outline-kernels`. Each function of groups becomes a program (ProgramPlanner), and each
// distinct group a definition (KernelDefinitions). States that attention reads as keys are found
// first, because all functions must store them alike. So are weights that products read, because a
// table of embeddings may be one of them.

#include "ProgramPlanner.h"

#include "heddle/Transforms/Passes.h"

namespace heddle {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::GroupOp;

/// Returns the states that attention reads as keys, which are stored in panels.
static llvm::StringSet<> statesOfKeys(ModuleOp module) {
  llvm::StringSet<> result;
  module.walk([&](ScoresOpInterface op) {
    Value key = op.getKey();
    if (auto argument = dyn_cast<BlockArgument>(key))
      if (auto group = dyn_cast<GroupOp>(argument.getOwner()->getParentOp()))
        key = group->getOperand(argument.getArgNumber());
    if (auto group = key.getDefiningOp<GroupOp>())
      key = group.getBody().front().getTerminator()->getOperand(
          cast<OpResult>(key).getResultNumber());
    if (StringAttr state = stateOf(key))
      result.insert(state.getValue());
  });
  return result;
}

/// Returns the weights that products read as f32.
static llvm::StringSet<> matricesOf(ModuleOp module) {
  llvm::StringSet<> result;
  module.walk([&](WeightOp weight) {
    if (getElementTypeOrSelf(weight.getType()).isF32())
      for (OpOperand &use : weight->getUses())
        if (auto group = dyn_cast<GroupOp>(use.getOwner()))
          if (llvm::any_of(
                  group.getBody().getArgument(use.getOperandNumber()).getUses(),
                  [](OpOperand &read) { return storageOf(read) == OperandStorage::Panels; }))
            result.insert(weight.getName());
  });
  return result;
}

namespace {
struct OutlineKernels : heddle::impl::OutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    KernelDefinitions definitions(module);
    llvm::StringSet<> keyStates = statesOfKeys(module), matrices = matricesOf(module);
    WeightPacks packs;
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (failed(ProgramPlanner(func, definitions, keyStates, matrices, packs).run()))
        return signalPassFailure();
      func.erase();
    }
    for (auto state : llvm::make_early_inc_range(module.getOps<StateOp>()))
      state.erase();
  }
};
} // namespace
