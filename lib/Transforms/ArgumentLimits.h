//===- ArgumentLimits.h - Limits of integer arguments -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits on the values of integer arguments: ids, lengths, and starts of packed documents. Kernels
// rely on these limits, so calls with other values are rejected.
#pragma once

#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"

namespace heddle {

/// The limits that all readers of an argument impose on its values.
class ArgumentLimits : public transformer::ValueLimits {
public:
  ArgumentLimits(mlir::Value argument, const ShapeExpressions &shapes);

  /// Exclusive upper bound, or nullopt if no reader requires one.
  std::optional<SizeExpr> high() const {
    return starts.empty() ? below : std::optional(starts.front());
  }
  /// Upper bounds of starts. Values that are split by the same starts have equal numbers of rows.
  llvm::ArrayRef<SizeExpr> allStarts() const { return starts; }
  /// Upper bound of all uses other than starts.
  std::optional<SizeExpr> highOfOthers() const { return below; }
  llvm::ArrayRef<mlir::BlockArgument> boundedBy() const { return documents; }
  int64_t maxLength = 0; ///< maximum rows of a document, from position tables; 0: none

private:
  void readAll(mlir::Value value);
  void addBelow(const SizeExpr &high) override;
  void addStarts(const SizeExpr &high, int64_t rows) override;
  void addWithin(mlir::Value starts) override;
  void addReadersOf(mlir::Value copy) override;

  kernel::GroupOp group;              ///< group whose ops are queried
  llvm::SmallVector<SizeExpr> starts; ///< upper bound of each use, without duplicates
  std::optional<SizeExpr> below;      ///< least upper bound of all other uses
  llvm::SmallVector<mlir::BlockArgument> documents;
};

} // namespace heddle
