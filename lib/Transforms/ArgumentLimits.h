//===- ArgumentLimits.h - What values an argument may have ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ids, lengths, and the starts of packed documents: kernels reach no further than
// these say, so a call that gives others is refused.
#pragma once

#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"

namespace heddle {

/// What the readers of an argument ask of its values, all of them together.
class ArgumentLimits : public transformer::ValueLimits {
public:
  ArgumentLimits(mlir::Value argument, const ShapeExpressions &shapes);

  /// Values lie below; none: nobody asks.
  std::optional<SizeExpr> high() const {
    return starts.empty() ? below : std::optional(starts.front());
  }
  /// The same starts may cut several values, which then have as many rows.
  llvm::ArrayRef<SizeExpr> allStarts() const { return starts; }
  /// Where starts are lengths or ids too.
  std::optional<SizeExpr> highOfOthers() const { return below; }
  llvm::ArrayRef<mlir::BlockArgument> boundedBy() const { return documents; }
  int64_t maxLength = 0; ///< rows of a document, which have a position; 0: any number

private:
  void readAll(mlir::Value value);
  void addBelow(const SizeExpr &high) override;
  void addStarts(const SizeExpr &high, int64_t rows) override;
  void addWithin(mlir::Value starts) override;
  void addReadersOf(mlir::Value copy) override;

  kernel::GroupOp group;              ///< whose op is asked
  llvm::SmallVector<SizeExpr> starts; ///< high of each use, each once
  std::optional<SizeExpr> below;      ///< the least high of all other uses
  llvm::SmallVector<mlir::BlockArgument> documents;
};

} // namespace heddle
