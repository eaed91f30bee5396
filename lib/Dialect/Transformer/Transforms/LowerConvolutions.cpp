//===- LowerConvolutions.cpp - Convolutions as matrix products ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites convolutions as products, so that later passes handle no
// convolutions. The kernel size must be 1 or equal to the stride.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"

using namespace mlir;

namespace heddle::transformer {

#define GEN_PASS_DEF_LOWERCONVOLUTIONS
#include "heddle/Dialect/Transformer/Transforms/Passes.h.inc"

/// Replaces `op` by a product whose matrix is a tensor of the checkpoint, with the first dimension
/// as rows and all other dimensions as columns. Weights of other origin are rejected later.
template <typename Op>
static void replaceByProduct(OpBuilder &b, Op op, WeightOp kernels, Value input,
                             Activation activation) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(kernels.getType()).getShape();
  auto type = RankedTensorType::get({shape.front(), ShapedType::getNumElements(shape.drop_front())},
                                    b.getF32Type());
  auto matrix = WeightOp::create(b, kernels.getLoc(), type, kernels.getName(),
                                 b.getDenseI64ArrayAttr(kernels.getCheckpointShape()));
  // Keep the written result type, which may be more precise than the inferred one.
  Value result =
      LinearOp::create(b, op.getLoc(), op.getType(), input, matrix, op.getBias(), activation);
  op.replaceAllUsesWith(result);
  op.erase();
  if (kernels.use_empty())
    kernels.erase();
}

static void lower(Conv1x1Op op) {
  OpBuilder b(op);
  if (auto kernels = op.getWeight().getDefiningOp<WeightOp>())
    replaceByProduct(b, op, kernels, op.getInput(), op.getActivation());
}

/// Lowers patches to rows that hold their pixels.
static void lower(PatchEmbeddingOp op) {
  OpBuilder b(op);
  auto kernels = op.getWeight().getDefiningOp<WeightOp>();
  if (!kernels)
    return;
  auto side = static_cast<uint64_t>(op.getWeight().getType().getDimSize(2));
  Value patches = PatchesOp::create(b, op.getLoc(), op.getImage(), side);
  replaceByProduct(b, op, kernels, patches, Activation::None);
}

namespace {
struct LowerConvolutions : impl::LowerConvolutionsBase<LowerConvolutions> {
  void runOnOperation() override {
    getOperation()->walk([](Conv1x1Op op) { lower(op); });
    getOperation()->walk([](PatchEmbeddingOp op) { lower(op); });
  }
};
} // namespace

} // namespace heddle::transformer
