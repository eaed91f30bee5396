//===- ShapeExpressions.h - Shapes as expressions of dimensions -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives every tensor of a function a shape in terms of the function's named
// dimensions, and collects the equalities that the ops rely on and the names do
// not prove: the runtime checks those when it knows the values.
#pragma once

#include "heddle/Dialect/Transformer/IR/OpInterfaces.h"

namespace mlir::func {
class FuncOp;
}

namespace heddle {

namespace kernel {
class GroupOp;
}

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
/// multiple of 16 columns; 0 where rows are whole.
int64_t paddedHeadSize(kernel::GroupOp group, mlir::Value yielded);

} // namespace heddle
