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
      .Case("pool", tilePool)
      .Case("embedding", tileEmbedding)
      .Case("elementwise", tileElementwise)
      .Case("relayout", tileRelayout)
      .Default(nullptr);
}

/// A tile of attention keeps its rows of weighted values, on the CPU on a thread's stack. Wide heads
/// take fewer rows at a time: no row's result depends on how many there are beside it.
static FailureOr<TileSizes> fitted(kernel::DefOp def, TileSizes sizes) {
  constexpr int64_t mostValues = 96 * 1280;
  transformer::AttentionOp attention;
  def.walk([&](transformer::AttentionOp op) { attention = op; });
  if (!attention || sizes.onGpu)
    return sizes;
  int64_t size = cast<ShapedType>(attention.getValue().getType()).getDimSize(3);
  for (int64_t rows : {int64_t(48), int64_t(16)})
    if (sizes.attentionRows * paddedTo16(size) > mostValues)
      sizes.attentionRows = rows;
  if (sizes.attentionRows * paddedTo16(size) <= mostValues)
    return sizes;
  return attention.emitOpError("expected values of at most ")
         << mostValues / sizes.attentionRows << " features a head, found " << size
         << "; wider heads are not built yet";
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
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<kernel::ProgramOp>()))
      program.erase();
    for (auto def : llvm::make_early_inc_range(getOperation().getOps<kernel::DefOp>()))
      if (failed(tile(def, sizes)))
        return signalPassFailure();
  }

  LogicalResult tile(kernel::DefOp def, const TileSizes &sizes) {
    Writer writer = writerOf(def.getRoot().value_or(""));
    if (!writer)
      return def.emitOpError() << "expected a known root, found '" << def.getRoot().value_or("")
                               << "'";
    OpBuilder builder(def);
    FailureOr<TileSizes> fitting = fitted(def, sizes);
    if (failed(fitting))
      return failure();
    KernelFrame frame(def, *fitting, builder);
    if (failed(writer(frame)))
      return failure();
    def.erase();
    return success();
  }
};
} // namespace
