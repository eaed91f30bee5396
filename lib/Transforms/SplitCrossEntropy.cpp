//===- SplitCrossEntropy.cpp - A loss as two kernels ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass `splitLoss-cross-entropy`. Rows of logits are as wide as a vocabulary and are computed in
// parallel. Each row produces two numbers, which one workgroup sums:
//
//   %l = cross_entropy(%x, %ids)   ──▶  %r = cross_entropy.rows(%x, %ids)
//                                       %l = cross_entropy.mean(%r)

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {
#define GEN_PASS_DEF_SPLITCROSSENTROPY
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::transformer;

static void splitLoss(CrossEntropyOp op) {
  OpBuilder b(op);
  Value rows = CrossEntropyRowsOp::create(b, op.getLoc(), op.getLogits(), op.getIds(),
                                          op.getPaddingIdAttr());
  op.replaceAllUsesWith(CrossEntropyMeanOp::create(b, op.getLoc(), rows).getResult());
  op.erase();
}

namespace {
struct SplitCrossEntropy : heddle::impl::SplitCrossEntropyBase<SplitCrossEntropy> {
  void runOnOperation() override { getOperation().walk(splitLoss); }
};
} // namespace
