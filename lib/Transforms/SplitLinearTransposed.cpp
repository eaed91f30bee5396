//===- SplitLinearTransposed.cpp - Products with transposed weights -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass `split-linear-transposed`. Products read weights in panels of rows, so a product over the
// rows of a weight reads a transposed copy. The copy costs a pass over the weight, which is little
// next to the product of a batch's rows.
//
//   %dx = linear.transposed %dy, %w   ──▶  %t = transpose %w
//                                          %dx = linear %dy, %t

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {
#define GEN_PASS_DEF_SPLITLINEARTRANSPOSED
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::transformer;

namespace {
struct SplitLinearTransposed : heddle::impl::SplitLinearTransposedBase<SplitLinearTransposed> {
  void runOnOperation() override {
    getOperation().walk([](LinearTransposedOp op) { op.decompose(); });
  }
};
} // namespace
