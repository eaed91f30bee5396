//===- ShapeExpressions.h - Shapes as expressions of dimensions -*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives every tensor of a function a shape in terms of the function's named
// dimensions, and collects the equalities that the ops rely on and the names do
// not prove: the runtime checks those when it knows the values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Support/SizeExpr.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::func {
class FuncOp;
}

namespace heddle {

namespace kernel {
class GroupOp;
}
namespace transformer {
class AttentionOp;
}

using Shape = llvm::SmallVector<SizeExpr, 4>;

/// `left` and `right` have to be equal (or left ≤ right) for `what` to make sense.
struct ShapeEquality {
  SizeExpr left, right;
  std::string what;
  bool atMost = false;
};

class ShapeExpressions {
public:
  /// Analyses a function at the transformer or fused stage.
  explicit ShapeExpressions(mlir::func::FuncOp func);

  /// Shape of a tensor of the function, group bodies included.
  const Shape &of(mlir::Value value) const { return shapes.find(value)->second; }
  const llvm::SmallVector<ShapeEquality> &equalities() const { return required; }
  /// Names of the dimensions that the arguments bind, in order.
  const std::vector<std::string> &dims() const { return names; }

private:
  class Results;
  class Rules;
  void argument(mlir::func::FuncOp func, unsigned index);
  void visit(mlir::Operation *op);
  void visitGroup(mlir::Operation *op);
  void visitAttention(mlir::Operation *op);
  /// Masks and score rules of an attention over `full`, its batch, heads, queries and keys
  /// (MaskShapes.cpp).
  void visitRules(transformer::AttentionOp op, const Shape &full);
  Shape state(mlir::Operation *user, llvm::StringRef symbol) const;
  void require(const SizeExpr &left, const SizeExpr &right, std::string what);

  llvm::DenseMap<mlir::Value, Shape> shapes;
  llvm::SmallVector<ShapeEquality> required;
  std::vector<std::string> names;
  /// Dimensions of inputs that are 1 or what the runtime found to fit (`transformer.spread`).
  llvm::StringSet<> oneOrFull;
};

/// Expressions of a list of names and integers, as in `dims = ["B", 8, "P", 64]`.
Shape dimsFromAttr(mlir::ArrayAttr dims);
/// The same of a list that holds expressions too, as `transformer.spread` does.
Shape sizesFromAttr(mlir::ArrayAttr sizes);

/// Size of the heads that attention stores side by side in a result of its group, each padded to a
/// multiple of 16 columns; 0 where rows are whole.
int64_t paddedHeadSize(kernel::GroupOp group, mlir::Value yielded);

} // namespace heddle
