//===- DecomposeFfn.cpp - Feed-forward blocks as matrix products ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites ffn(x) to linear(activation(linear(x))): two products, which later
// stages fuse with their neighbors.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"

using namespace mlir;

namespace heddle::transformer {

#define GEN_PASS_DEF_DECOMPOSEFFN
#include "heddle/Dialect/Transformer/Transforms/Passes.h.inc"

namespace {
struct DecomposeFfn : impl::DecomposeFfnBase<DecomposeFfn> {
  void runOnOperation() override {
    getOperation()->walk([](ExpertsOp op) { op.decompose(); });
    getOperation()->walk([](FfnOp op) { op.decompose(); });
  }
};
} // namespace

} // namespace heddle::transformer
