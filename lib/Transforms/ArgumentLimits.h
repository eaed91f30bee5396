//===- ArgumentLimits.h - Limits of integer arguments -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits on the values of integer arguments: ids, lengths, and starts of packed
// documents. Kernels rely on these limits, so a call with other values is
// rejected.
#pragma once

#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"

namespace heddle {

/// The limits that all readers of an argument put on its values.
class ArgumentLimits : public transformer::ValueLimits {
public:
  ArgumentLimits(mlir::Value argument, const ShapeExpressions &shapes);

  /// Upper bound, exclusive; none if no reader asks for one.
  std::optional<SizeExpr> high() const {
    return starts.empty() ? below : std::optional(starts.front());
  }
  /// Upper bounds of starts. Values that the same starts cut have equal numbers of rows.
  llvm::ArrayRef<SizeExpr> allStarts() const { return starts; }
  /// Upper bound of all uses that are not starts.
  std::optional<SizeExpr> highOfOthers() const { return below; }
  llvm::ArrayRef<mlir::BlockArgument> boundedBy() const { return documents; }
  int64_t maxLength = 0; ///< limit of a document's rows, from position tables; 0: none

private:
  void readAll(mlir::Value value);
  void addBelow(const SizeExpr &high) override;
  void addStarts(const SizeExpr &high, int64_t rows) override;
  void addWithin(mlir::Value starts) override;
  void addReadersOf(mlir::Value copy) override;

  kernel::GroupOp group;              ///< the group whose ops are asked
  llvm::SmallVector<SizeExpr> starts; ///< high of each use, each once
  std::optional<SizeExpr> below;      ///< the least high of all other uses
  llvm::SmallVector<mlir::BlockArgument> documents;
};

} // namespace heddle
