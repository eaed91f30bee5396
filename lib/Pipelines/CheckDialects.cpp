//===- CheckDialects.cpp - The pass check-dialects ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the dialect of every op against a list. Types and attributes need no check, since they
// occur only together with an op of a dialect that uses them.

#include "heddle/Pipelines/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;

namespace heddle {
#define GEN_PASS_DEF_CHECKDIALECTS
#include "heddle/Pipelines/Passes.h.inc"

namespace {

struct CheckDialects : impl::CheckDialectsBase<CheckDialects> {
  using CheckDialectsBase::CheckDialectsBase;

  void runOnOperation() override {
    std::set<std::string> used;
    WalkResult result = getOperation().walk([&](Operation *op) {
      std::string dialect = op->getName().getDialectNamespace().str();
      if (dialect == "builtin")
        return WalkResult::advance();
      used.insert(dialect);
      if (print || llvm::is_contained(allowed, dialect))
        return WalkResult::advance();
      op->emitOpError("expected an op of the dialects ")
          << llvm::join(allowed, ", ") << ", found one of " << dialect;
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (print)
      getOperation().emitRemark("dialects: ") << llvm::join(used, ", ");
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace heddle
