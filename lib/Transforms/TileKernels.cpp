//===- TileKernels.cpp - Tiling of kernel definitions ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass `tile-kernels`: the root op of a definition writes its body by the definition's plan, and
// the kernel replaces the definition. Further plans create further forms of the kernel: for launches
// with few rows, and for rounding the rows that the kernel multiplies.

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
    for (auto [number, plan] : llvm::enumerate(plans.getAsRange<kernel::PlanAttr>()))
      if (failed(write(def, plan, /*isFirst=*/number == 0)))
        return failure();
    def.erase();
    return success();
  }

  /// Writes a kernel, or another form of it: one with a product serves few rows, one without a product
  /// rounds rows.
  static LogicalResult write(kernel::DefOp def, kernel::PlanAttr plan, bool isFirst) {
    OpBuilder builder(def);
    KernelBuilder frame(def, plan, builder);
    frame.rounds = !isFirst && !kernel::stages(plan.getMapping());
    if (!isFirst && !frame.rounds)
      frame.fewRows = rowsOfLinear(frame);
    if (failed(frame.rounds ? tileRounding(frame) : write(frame, *def.getRoot())))
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
