//===- OpInterfaces.h - Interfaces and traits of ops ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interfaces of OpInterfaces.td, the values that their methods exchange,
// and the traits that passes use.
#pragma once

#include "heddle/Support/Program.h"
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
/// Like dimsFromAttr, for a list that may hold expressions too, such as `transformer.broadcast`.
Shape sizesFromAttr(mlir::ArrayAttr sizes);
/// The default of an argument that carries the attribute `transformer.default`; none for another
/// form of the attribute, and for an argument without one.
std::optional<DefaultInput> defaultFromAttr(mlir::Attribute attribute);

/// A condition on dimensions that `what` relies on: left = right, or left <= right.
struct ShapeEquality {
  SizeExpr left, right;
  std::string what;
  bool atMost = false;
};

} // namespace heddle

namespace heddle::transformer {

/// Attributes and operands that change or extend the scores of an attention; null if absent.
struct ScoreRules {
  mlir::Value bias, sinks;
  mlir::Value keyCounts; ///< keys of each sequence that exist; null: all
  mlir::Value keyScales; ///< of keys that are codes; null: they are numbers
  mlir::FloatAttr softcap, hiddenScore;

  bool operator==(const ScoreRules &) const = default;
};

/// Storage of a kernel's operand. A table is read only at the rows that are looked up. Panels are
/// packed with the model, or by the kernel that computes keys.
enum class OperandStorage { Vector, Rows, Table, Panels };

/// The default storage: vectors are dense, all else are rows.
OperandStorage storageByRank(mlir::OpOperand &operand);
/// The storage that the reading op asks for.
OperandStorage storageOf(mlir::OpOperand &operand);
/// Whether the reading op takes a weight as this operand.
bool takesWeight(mlir::OpOperand &operand);

/// A table that the runtime fills, one row a position. The op reads as many rows as its result has.
struct RowTable {
  std::string generator; ///< name of the generator in a program
  int64_t columns;
  mlir::Value offset; ///< first row that is read; null: 0

  bool operator==(const RowTable &) const = default;
};

/// Symbolic shapes of tensors over a function's dimensions, and the conditions of its ops.
class SymbolicShapes {
public:
  /// The shape of a tensor; the value of a length that a session counts.
  const Shape &of(mlir::Value value) const { return shapes.find(value)->second; }
  bool knows(mlir::Value value) const { return shapes.contains(value); }
  void set(mlir::Value value, Shape shape) { shapes[value] = std::move(shape); }
  void require(const SizeExpr &left, const SizeExpr &right, std::string what);
  void requireAtMost(const SizeExpr &left, const SizeExpr &right, std::string what);
  /// Requires the batch of packed documents to be one.
  void requireBatchOfOne(mlir::Value rows);
  /// Whether the runtime binds the dimension to 1 or to the full size (`transformer.broadcast`).
  bool isOneOrFull(const SizeExpr &size) const { return oneOrFull.contains(size.dimName()); }

  /// Makes `name` the length of caches whose sequences have rows of their own number: tables over
  /// their keys may be longer.
  void countRows(llvm::StringRef name) { counted.insert(name); }
  /// The shape of a state's content before the call.
  const Shape &ofState(mlir::StringAttr name) const { return states.find(name)->second; }
  bool isCounted(const SizeExpr &size) const { return counted.contains(size.dimName()); }

  /// Gives results the shape of the first operand, except for features that their types have.
  void inferRows(mlir::Operation *op);

protected:
  llvm::DenseMap<mlir::Value, Shape> shapes;
  llvm::SmallVector<ShapeEquality> required;
  llvm::StringSet<> oneOrFull, counted;
  llvm::DenseMap<mlir::StringAttr, Shape> states;
};

/// The static sizes of a type; dynamic ones are left to the caller.
Shape staticShape(mlir::Type type);

/// Collects the limits that the readers of an integer argument put on its values.
class ValueLimits {
public:
  explicit ValueLimits(const SymbolicShapes &shapes) : shapes(shapes) {}
  virtual ~ValueLimits() = default;

  const SymbolicShapes &shapes;

  virtual void addBelow(const SizeExpr &high) = 0;
  /// Values are starts of documents, below `high`; a document has at most `maxLength` rows, 0 for any
  /// number.
  virtual void addStarts(const SizeExpr &high, int64_t maxLength = 0) = 0;
  /// Values count inside the documents that `starts` cuts.
  virtual void addWithin(mlir::Value starts) = 0;
  /// The readers of `copy` read the same values.
  virtual void addReadersOf(mlir::Value copy) = 0;
};

/// An op that reduces whole rows, and so cannot run on the tiles of another kernel.
template <typename ConcreteOp>
class ReducesRows : public mlir::OpTrait::TraitBase<ConcreteOp, ReducesRows> {};
/// An op that multiplies matrices.
template <typename ConcreteOp>
class Contracts : public mlir::OpTrait::TraitBase<ConcreteOp, Contracts> {};
/// An op that treats all leading dimensions alike, as one number of rows.
template <typename ConcreteOp>
class RowsAlike : public mlir::OpTrait::TraitBase<ConcreteOp, RowsAlike> {};

} // namespace heddle::transformer

#include "heddle/Dialect/Transformer/IR/OpInterfaces.h.inc"

namespace heddle::transformer {

/// The ops of a block that read tables, one a table: the first one that does.
llvm::SmallVector<TransformerOpInterface> readersOfTables(mlir::Block &block);

} // namespace heddle::transformer
