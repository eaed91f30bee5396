//===- ShapeExpressions.h - Symbolic shapes of a function -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbolic shapes of all tensors of a function, in terms of the function's
// named dimensions, and the equalities that its ops require but the names do
// not prove. The runtime checks these equalities once it knows the values.
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
  /// Names of the dimensions that the arguments define, in order.
  const std::vector<std::string> &dims() const { return names; }

private:
  void argument(mlir::func::FuncOp func, unsigned index);
  void visit(mlir::Operation *op);
  void visitGroup(mlir::Operation *op);

  std::vector<std::string> names;
};

/// Size of the heads that attention stores next to each other in a result of its group, if each
/// head is padded to a multiple of 16 columns; 0 if rows have no such padding.
int64_t paddedHeadsOfContext(kernel::GroupOp group, mlir::Value yielded);
/// Size of the padded heads into which a product is split in its group or kernel, counted in rows
/// of the weight; 0 if there is no padding. Heads with rotary positions in the kernel are always
/// padded, because rotation uses tiles of single heads.
int64_t paddedHeadsOfProduct(mlir::Value product);

} // namespace heddle
