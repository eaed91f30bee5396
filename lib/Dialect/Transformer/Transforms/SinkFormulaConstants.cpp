//===- SinkFormulaConstants.cpp - Constants of formulas sink into them ----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies scalar constants from outside a formula into its region.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace heddle::transformer {

#define GEN_PASS_DEF_SINKFORMULACONSTANTS
#include "heddle/Dialect/Transformer/Transforms/Passes.h.inc"

/// Sinks constants into a region, one copy for all uses. This is always legal, because constants
/// have no operands.
static void sinkConstants(Region &formula) {
  OpBuilder b(formula);
  llvm::DenseMap<Operation *, Operation *> copies;
  for (Operation &op : formula.front())
    for (OpOperand &use : op.getOpOperands()) {
      Operation *def = use.get().getDefiningOp();
      if (!def || formula.isAncestor(def->getParentRegion()) || !matchPattern(def, m_Constant()) ||
          isa<ShapedType>(use.get().getType()))
        continue;
      auto [copy, added] = copies.try_emplace(def);
      if (added)
        copy->second = b.clone(*def);
      use.set(copy->second->getResult(0));
    }
}

namespace {
struct SinkFormulaConstants : impl::SinkFormulaConstantsBase<SinkFormulaConstants> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (isa<MaskWhereOp, BiasWhereOp>(op))
        sinkConstants(op->getRegion(0));
    });
  }
};
} // namespace

} // namespace heddle::transformer
