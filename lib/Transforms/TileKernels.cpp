//===- TileKernels.cpp - Definitions become tiled kernels -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass `tile-kernels`: the root op of a definition writes its body, and the
// kernel replaces the definition. Where a target has tiles for few rows, a linear
// has a second kernel of them.

#include "Tiling.h"

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
    const GpuTarget *gpu = nullptr;
    if (target == "vulkan") {
      gpu = findGpuTarget(level, getOperation(), "tile-kernels");
      if (!gpu)
        return signalPassFailure();
    } else if (target != "cpu") {
      getOperation().emitError() << "tile-kernels: expected target to be cpu or vulkan, found '"
                                 << target.getValue() << "'";
      return signalPassFailure();
    }
    for (auto def : llvm::make_early_inc_range(getOperation().getOps<kernel::DefOp>()))
      if (failed(tile(def, gpu)))
        return signalPassFailure();
  }

  LogicalResult tile(kernel::DefOp def, const GpuTarget *gpu) {
    std::optional<kernel::Root> root = def.getRoot();
    if (!root)
      return def.emitOpError("expected a root, found none");
    if (!def.getScalars())
      return def.emitOpError("expected scalars and layouts, found none; run outline-kernels first");
    TileSizes sizes = gpu ? gpu->tiles : cpuTiles;
    kernel::Size rows; // a number that is known leaves no choice to devices
    if (*root == kernel::Root::Linear) {
      OpBuilder builder(def);
      KernelBuilder frame(def, sizes, builder);
      if (sizes.fewRows)
        rows = rowsOfLinear(frame);
      if (gpu && multipliesMatrices(frame, *gpu))
        sizes = *gpu->matrixTiles;
      else if (sizes.stagedSteps && !stagesProducts(frame, *gpu)) { // these are as at level 0
        sizes.stagedSteps = 0;
        sizes.linearRows = gpuTiles.linearRows;
      }
    }
    if (*root == kernel::Root::Attention && gpu) {
      OpBuilder builder(def);
      KernelBuilder frame(def, sizes, builder);
      if (attendsByMatrices(frame, *gpu))
        sizes = *gpu->matrixTiles;
    }
    TileSizes few = sizes;
    few.linearRows = sizes.fewRows;
    few.linearColumns = sizes.fewRowColumns;
    if (failed(write(def, *root, sizes, {}, gpu)) ||
        (!rows.isStatic() && failed(write(def, *root, few, rows, gpu))))
      return failure();
    def.erase();
    return success();
  }

  /// Writes a kernel, or the form of one for few of these rows.
  static LogicalResult write(kernel::DefOp def, kernel::Root root, const TileSizes &sizes,
                             kernel::Size fewRows, const GpuTarget *gpu) {
    OpBuilder builder(def);
    KernelBuilder frame(def, sizes, builder);
    frame.fewRows = fewRows;
    if (failed(write(frame, root)))
      return failure();
    frame.func.setPlanAttr(planBody(frame.func, gpu, sizes));
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
