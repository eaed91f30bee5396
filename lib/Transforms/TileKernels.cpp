//===- TileKernels.cpp - Tiling of kernel definitions ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass `tile-kernels`: the root op of a definition writes its body by the definition's plan, and
// the kernel replaces the definition. A second plan creates a second form of the kernel, for
// launches with few rows.

#include "Tiling.h"

#include "heddle/Planning/LinearColumns.h"
#include "heddle/Transforms/Passes.h"
#include "heddle/Transforms/TileableOpInterface.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace heddle {
#define GEN_PASS_DEF_TILEKERNELS
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
struct TileKernels : heddle::impl::TileKernelsBase<TileKernels> {
  using TileKernelsBase::TileKernelsBase;

  void runOnOperation() override {
    for (auto def : llvm::make_early_inc_range(getOperation().getOps<kernel::DefOp>()))
      if (failed(tile(def)))
        return signalPassFailure();
  }

  static LogicalResult tile(kernel::DefOp def) {
    if (!def.getRoot())
      return def.emitOpError("expected a root, found none");
    ArrayAttr plans = def.getPlansAttr();
    if (!plans)
      return def.emitOpError("expected plans, found none; run plan-kernels first");
    if (failed(write(def, cast<kernel::PlanAttr>(plans[0]), /*fewRows=*/{})))
      return failure();
    if (plans.size() > 1 &&
        failed(write(def, cast<kernel::PlanAttr>(plans[1]), rowsOfLinear(DefinitionViews(def)))))
      return failure();
    def.erase();
    return success();
  }

  /// Writes a kernel, or its form for few rows if `fewRows` names their number.
  static LogicalResult write(kernel::DefOp def, kernel::PlanAttr plan, kernel::Size fewRows) {
    OpBuilder builder(def);
    KernelBuilder frame(def, plan, builder);
    frame.fewRows = fewRows;
    if (failed(write(frame, *def.getRoot())))
      return failure();
    frame.func.setPlanAttr(plan);
    return success();
  }

  static LogicalResult write(KernelBuilder &frame, kernel::Root root) {
    for (Operation &op : frame.def.getBody().front())
      if (rootOf(&op) == root)
        return cast<TileableOpInterface>(op).tile(frame);
    if (root == kernel::Root::Relayout) // copies its argument, without an op
      return tileRelayout(frame);
    return frame.def.emitOpError("expected an op that begins a kernel around ")
           << stringifyRoot(root) << ", found none";
  }
};
} // namespace
