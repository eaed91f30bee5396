//===- SplitAttentionWeights.cpp - Returned weights as a second kernel ----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass `split-attention-weights`:
//
//   %o, %w = attention(q, k, v)   ──▶   %o = attention(q, k, v)
//                                        %m, %s = attention.statistics(q, k)
//                                        %w = attention.weights(q, k, %m, %s)

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {
#define GEN_PASS_DEF_SPLITATTENTIONWEIGHTS
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

static void split(AttentionOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto plain = AttentionOp::create(b, loc, op.getQuery(), op.getKey(), op.getValue(), op.getMask(),
                                   op.getScale().convertToFloat(), WeightsResult::None,
                                   /*lse=*/static_cast<bool>(op.getLse()), op.getRules(),
                                   op.getValueScales());
  plain->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  auto statistics = AttentionStatisticsOp::create(b, loc, op);
  auto weights = AttentionWeightsOp::create(b, loc, op, statistics);
  op.getOutput().replaceAllUsesWith(plain.getOutput());
  if (op.getLse())
    op.getLse().replaceAllUsesWith(plain.getLse());
  op.getWeights().replaceAllUsesWith(weights.getWeights());
  op.erase();
}

namespace {
struct SplitAttentionWeights : heddle::impl::SplitAttentionWeightsBase<SplitAttentionWeights> {
  void runOnOperation() override {
    getOperation().walk([](AttentionOp op) {
      if (op.getWeights())
        split(op);
    });
  }
};
} // namespace
