//===- DecomposeFfn.cpp - Feed-forward blocks as matrix products ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ffn(x) becomes linear(activation(linear(x))): two products that later stages
// fuse each with what surrounds it.

#include "ProductRewrites.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle::transformer {

#define GEN_PASS_DEF_DECOMPOSEFFN
#include "heddle/Dialect/Transformer/Transforms/Passes.h.inc"

void decompose(FfnOp op) {
  OpBuilder b(op);
  Value hidden = LinearOp::create(b, op.getLoc(), op.getInput(), op.getInWeight(), op.getInBias(),
                                  op.getActivation());
  // The second product rounds what the first one does.
  auto type = cast<RankedTensorType>(hidden.getType());
  if (Type element = getElementTypeOrSelf(op.getInput()); element != type.getElementType())
    hidden = arith::TruncFOp::create(b, op.getLoc(), type.clone(element), hidden);
  // The written type of the result is kept: it may know more than what is inferred.
  Value result = LinearOp::create(b, op.getLoc(), op.getType(), hidden, op.getOutWeight(),
                                  op.getOutBias(), Activation::None);
  op.replaceAllUsesWith(result);
  op.erase();
}

namespace {
struct DecomposeFfn : impl::DecomposeFfnBase<DecomposeFfn> {
  void runOnOperation() override { getOperation()->walk(decompose); }
};
} // namespace

} // namespace heddle::transformer
