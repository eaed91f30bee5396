//===- TileKernels.cpp - Definitions become tiled kernels -----------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls the writer of each definition's root and puts the kernel in its place.
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"

#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"

namespace heddle {
#define GEN_PASS_DEF_TILEKERNELS
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

using Writer = LogicalResult (*)(KernelFrame &);

static Writer writerOf(StringRef root) {
  return llvm::StringSwitch<Writer>(root)
      .Case("linear", tileLinear)
      .Case("attention", tileAttention)
      .Case("weights", tileAttentionWeights)
      .Case("norm", tileNorm)
      .Case("patches", tilePatches)
      .Case("pool", tilePool)
      .Case("quantize", tileQuantize)
      .Case("softmax", tileSoftmax)
      .Case("loss", tileLoss)
      .Case("loss_mean", tileLossMean)
      .Case("shift", tileShift)
      .Case("embedding", tileEmbedding)
      .Case("elementwise", tileElementwise)
      .Case("relayout", tileRelayout)
      .Default(nullptr);
}

/// On the CPU, what attention and norms hold of a tile of rows stands on a thread's stack. Wide rows
/// are taken fewer at a time: no row's result depends on how many there are beside it.
static TileSizes fitted(kernel::DefOp def, TileSizes sizes) {
  constexpr int64_t mostValues = 96 * 1024;
  auto columns = [](Value value) {
    return padded(cast<ShapedType>(value.getType()).getShape().back());
  };
  if (sizes.onGpu)
    return sizes;
  def.walk([&](transformer::AttentionOp op) {
    for (int64_t rows : {48, 16})
      if (sizes.attentionRows * columns(op.getValue()) > mostValues)
        sizes.attentionRows = rows;
  });
  def.walk([&](Operation *op) {
    constexpr int64_t rowsAtOnce = 4; // of a reduction, where there are as many
    if (isa<transformer::LayerNormOp, transformer::RmsNormOp>(op) &&
        rowsAtOnce * columns(op->getOperand(0)) > mostValues)
      sizes.normRows = 1;
  });
  return sizes;
}

namespace {
struct TileKernels : heddle::impl::TileKernelsBase<TileKernels> {
  using TileKernelsBase::TileKernelsBase;

  void runOnOperation() override {
    const TileSizes *known = TileSizes::find(target);
    if (!known) {
      getOperation().emitError() << "tile-kernels: expected target to be cpu or vulkan, found '"
                                 << target << "'";
      return signalPassFailure();
    }
    TileSizes sizes = *known;
    sizes.countTiles = countTiles;
    for (auto def : llvm::make_early_inc_range(getOperation().getOps<kernel::DefOp>()))
      if (failed(tile(def, sizes)))
        return signalPassFailure();
  }

  LogicalResult tile(kernel::DefOp def, const TileSizes &sizes) {
    Writer writer = writerOf(def.getRoot().value_or(""));
    if (!writer)
      return def.emitOpError() << "expected a known root, found '" << def.getRoot().value_or("")
                               << "'";
    if (!def.getScalars())
      return def.emitOpError("expected scalars and layouts, found none; run outline-kernels first");
    OpBuilder builder(def);
    TileSizes fitting = fitted(def, sizes);
    KernelFrame frame(def, fitting, builder);
    if (failed(writer(frame)))
      return failure();
    def.erase();
    return success();
  }
};
} // namespace
