//===- SimplifyDropout.cpp - Dropout without a key ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass `simplify-dropout`. Each dropout with a key has its own row_numbers. Layers have equal
// rows, so one op serves all of them, and their rows have one reader less:
//
//   %r = row_numbers %examples, %x        %r = row_numbers %examples, %x
//   %d = dropout %x rows(%r)         ──▶  %d = dropout %x rows(%r)
//   %s = row_numbers %examples, %y        %e = dropout %y rows(%r)
//   %e = dropout %y rows(%s)

#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {
#define GEN_PASS_DEF_SIMPLIFYDROPOUT
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

/// Whether two ops have equal results.
static bool areEqual(RowNumbersOp a, RowNumbersOp b, const ShapeExpressions &shapes) {
  return a->getBlock() == b->getBlock() && a.getType() == b.getType() &&
         a.getExamples() == b.getExamples() && a.getDocuments() == b.getDocuments() &&
         llvm::equal(shapes.of(a.getResult()), shapes.of(b.getResult()));
}

static void shareRowNumbers(func::FuncOp func) {
  SmallVector<RowNumbersOp> all, kept;
  func.walk([&](RowNumbersOp op) { all.push_back(op); });
  if (all.size() < 2)
    return;
  const ShapeExpressions shapes(func);
  for (RowNumbersOp op : all) {
    auto *first = llvm::find_if(kept, [&](RowNumbersOp k) { return areEqual(k, op, shapes); });
    if (first == kept.end()) {
      kept.push_back(op);
      continue;
    }
    op.replaceAllUsesWith(first->getResult());
    op.erase();
  }
}

namespace {
struct SimplifyDropout : heddle::impl::SimplifyDropoutBase<SimplifyDropout> {
  void runOnOperation() override {
    getOperation().walk([](DropoutOp op) {
      if (op.getKey())
        return;
      op.replaceAllUsesWith(op.getInput());
      op.erase();
    });
    shareRowNumbers(getOperation());
  }
};
} // namespace
