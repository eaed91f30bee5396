//===- ShapeExpressions.h - Symbolic shapes of a function -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbolic shapes: every tensor of a function in terms of the function's named
// dimensions, and the equalities that its ops need but the names do not prove.
// The runtime checks those equalities once it knows the values.
#pragma once

#include "heddle/Dialect/Transformer/IR/OpInterfaces.h"

namespace mlir::func {
class FuncOp;
}

namespace heddle {

namespace kernel {
class GroupOp;
}

/// Symbolic shapes of all values of a function.
class ShapeExpressions : public transformer::SymbolicShapes {
public:
  /// Analyses a function at the transformer or fused stage.
  explicit ShapeExpressions(mlir::func::FuncOp func);

  const llvm::SmallVector<ShapeEquality> &equalities() const { return required; }
  /// Names of the dimensions that the arguments bind, in order.
  const std::vector<std::string> &dims() const { return names; }

private:
  void argument(mlir::func::FuncOp func, unsigned index);
  void visit(mlir::Operation *op);
  void visitGroup(mlir::Operation *op);

  std::vector<std::string> names;
};

/// Size of the heads that attention stores side by side in a result of its group, each padded to a
/// multiple of 16 columns; 0 if rows are stored without such gaps.
int64_t paddedHeadsOfContext(kernel::GroupOp group, mlir::Value yielded);
/// The same of the heads into which a product is split in its group or kernel: of the weight's rows.
/// Rotary positions in the same kernel take tiles of single heads, so that theirs are padded.
int64_t paddedHeadsOfProduct(mlir::Value product);

} // namespace heddle
