//===- OpInterfaces.h - What passes ask of an op ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interfaces of OpInterfaces.td, the values that their methods exchange, and
// the traits that passes ask for.
#pragma once

#include "heddle/Support/SizeExpr.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace heddle {

using Shape = llvm::SmallVector<SizeExpr, 4>;

SizeExpr product(llvm::ArrayRef<SizeExpr> sizes);

/// Expressions of a list of names and integers, as in `dims = ["B", 8, "P", 64]`.
Shape dimsFromAttr(mlir::ArrayAttr dims);
/// The same of a list that holds expressions too, as `transformer.broadcast` does.
Shape sizesFromAttr(mlir::ArrayAttr sizes);

/// `left` and `right` have to be equal (or left ≤ right) for `what` to make sense.
struct ShapeEquality {
  SizeExpr left, right;
  std::string what;
  bool atMost = false;
};

} // namespace heddle

namespace heddle::transformer {

/// What changes the scores of an attention, and what joins them: each null where there is none.
struct ScoreRules {
  mlir::Value bias, sinks;
  mlir::FloatAttr softcap, hiddenScore;

  bool operator==(const ScoreRules &) const = default;
};

/// How an operand of a kernel is stored. Of a table only the rows that are looked up are read.
/// Panels are packed when the model is, or by the kernel that computes keys.
enum class OperandStorage { Vector, Rows, Table, Panels };

/// Vectors are dense, all else are rows.
OperandStorage storageByRank(mlir::OpOperand &operand);
/// As the op that reads it says.
OperandStorage storageOf(mlir::OpOperand &operand);
/// Whether the op that reads it takes a weight there.
bool takesWeight(mlir::OpOperand &operand);

/// A table that the runtime fills, a row a position. The op reads as many rows as its result has.
struct RowTable {
  std::string generator; ///< how a program names what fills it
  int64_t columns;
  mlir::Value offset; ///< number of the first row that is read; null: 0
};

/// Shapes of tensors in terms of a function's dimensions, and what ops rely on.
class SymbolicShapes {
public:
  /// Of a tensor its shape; of a length that a session counts, its value.
  const Shape &of(mlir::Value value) const { return shapes.find(value)->second; }
  bool knows(mlir::Value value) const { return shapes.contains(value); }
  void set(mlir::Value value, Shape shape) { shapes[value] = std::move(shape); }
  void require(const SizeExpr &left, const SizeExpr &right, std::string what);
  void requireAtMost(const SizeExpr &left, const SizeExpr &right, std::string what);
  /// Packed documents lie in a batch of one.
  void requireBatchOfOne(mlir::Value rows);
  /// Whether the runtime binds the dimension to 1 or to what fits (`transformer.broadcast`).
  bool isOneOrFull(const SizeExpr &size) const { return oneOrFull.contains(size.dimName()); }

  /// Results with the shape of the first operand, but for features that their types know.
  void inferRows(mlir::Operation *op);

protected:
  llvm::DenseMap<mlir::Value, Shape> shapes;
  llvm::SmallVector<ShapeEquality> required;
  llvm::StringSet<> oneOrFull;
};

/// The static sizes of a type; dynamic ones are left to the caller.
Shape staticShape(mlir::Type type);

/// Collects what the readers of an argument of integers ask of its values.
class ValueLimits {
public:
  explicit ValueLimits(const SymbolicShapes &shapes) : shapes(shapes) {}
  virtual ~ValueLimits() = default;

  const SymbolicShapes &shapes;

  virtual void addBelow(const SizeExpr &high) = 0;
  /// Values are starts of documents, below `high`; a document has at most `maxLength` rows, 0 for any
  /// number.
  virtual void addStarts(const SizeExpr &high, int64_t maxLength = 0) = 0;
  /// Values are counted in the documents that `starts` cuts.
  virtual void addWithin(mlir::Value starts) = 0;
  /// Readers of `copy` read the same values.
  virtual void addReadersOf(mlir::Value copy) = 0;
};

/// An op that reduces whole rows: nothing can follow it on the tiles of another kernel.
template <typename ConcreteOp>
class ReducesRows : public mlir::OpTrait::TraitBase<ConcreteOp, ReducesRows> {};
/// An op that multiplies matrices.
template <typename ConcreteOp>
class Contracts : public mlir::OpTrait::TraitBase<ConcreteOp, Contracts> {};
/// An op to which all leading dimensions of its rows are one.
template <typename ConcreteOp>
class RowsAlike : public mlir::OpTrait::TraitBase<ConcreteOp, RowsAlike> {};

} // namespace heddle::transformer

#include "heddle/Dialect/Transformer/IR/OpInterfaces.h.inc"
