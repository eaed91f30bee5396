//===- OpInterfaces.h - Interfaces and traits of ops ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interfaces of OpInterfaces.td, the types that their methods use, and the
// traits that passes query.
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

/// Converts a list of names and integers, as in `dims = ["B", 8, "P", 64]`, to expressions.
Shape dimsFromAttr(mlir::ArrayAttr dims);
/// Like dimsFromAttr, but the list may also hold expressions, as in `transformer.broadcast`.
Shape sizesFromAttr(mlir::ArrayAttr sizes);
/// Converts the attribute `transformer.default` of an argument. None if the attribute is null or
/// malformed.
std::optional<DefaultInput> defaultFromAttr(mlir::Attribute attribute);

/// A condition on dimensions, left = right or left <= right. `what` names its subject in errors.
struct ShapeEquality {
  SizeExpr left, right;
  std::string what;
  bool atMost = false;
};

} // namespace heddle

namespace heddle::transformer {

class Adjoints;

/// Attributes and operands of an attention that change or extend its scores; null if absent.
struct ScoreRules {
  mlir::Value bias, sinks;
  mlir::Value keyCounts; ///< number of existing keys of each sequence; null: all
  mlir::Value keyScales; ///< scales of keys that are codes; null: keys are numbers
  mlir::FloatAttr softcap, hiddenScore;

  bool operator==(const ScoreRules &) const = default;
};

/// Storage of a kernel's operand. Only the looked-up rows of a table are read. Panels are packed
/// with the model, or by the kernel that computes keys.
enum class OperandStorage { Vector, Rows, Table, Panels };

/// The default storage: vectors are dense, other tensors are rows.
OperandStorage storageByRank(mlir::OpOperand &operand);
/// The storage that the op of this operand requires.
OperandStorage storageOf(mlir::OpOperand &operand);
/// Whether the op of this operand accepts a weight for it.
bool takesWeight(mlir::OpOperand &operand);

/// A table that the runtime generates, with one row for each position. The op reads one row for
/// each row of its result.
struct RowTable {
  std::string generator; ///< name of the generator in a program
  int64_t columns;
  mlir::Value offset; ///< first row that is read; null: 0

  bool operator==(const RowTable &) const = default;
};

/// Groups of rows. Each group is multiplied by its part of `weight`.
struct RowGroups {
  mlir::Value starts; ///< first row of each group
  mlir::Value weight; ///< the matrices of all groups
  int64_t count = 0;
};

/// Symbolic shapes of tensors over a function's dimensions, and the conditions of its ops.
class SymbolicShapes {
public:
  /// The shape of a tensor. For a length that a session counts, the only entry is its value.
  const Shape &of(mlir::Value value) const { return shapes.find(value)->second; }
  bool knows(mlir::Value value) const { return shapes.contains(value); }
  void set(mlir::Value value, Shape shape) { shapes[value] = std::move(shape); }
  void require(const SizeExpr &left, const SizeExpr &right, std::string what);
  void requireAtMost(const SizeExpr &left, const SizeExpr &right, std::string what);
  /// Requires the batch of packed documents to be one.
  void requireBatchOfOne(mlir::Value rows);
  /// Whether the runtime binds the dimension to 1 or to the full size (`transformer.broadcast`).
  bool isOneOrFull(const SizeExpr &size) const { return oneOrFull.contains(size.dimName()); }

  /// Marks `name` as the length of caches that count rows for each sequence. Tables over their keys
  /// may be longer than the length.
  void countRows(llvm::StringRef name) { counted.insert(name); }
  /// The shape of a state's content before the call.
  const Shape &ofState(mlir::StringAttr name) const { return states.find(name)->second; }
  bool isCounted(const SizeExpr &size) const { return counted.contains(size.dimName()); }

  /// Gives results the shape of the first operand, except for features that are static in their
  /// types.
  void inferRows(mlir::Operation *op);

protected:
  llvm::DenseMap<mlir::Value, Shape> shapes;
  llvm::SmallVector<ShapeEquality> required;
  llvm::StringSet<> oneOrFull, counted;
  llvm::DenseMap<mlir::StringAttr, Shape> states;
};

/// The static sizes of a type. The caller fills in dynamic sizes.
Shape staticShape(mlir::Type type);

/// Collects the limits that the readers of an integer argument put on its values.
class ValueLimits {
public:
  explicit ValueLimits(const SymbolicShapes &shapes) : shapes(shapes) {}
  virtual ~ValueLimits() = default;

  const SymbolicShapes &shapes;

  virtual void addBelow(const SizeExpr &high) = 0;
  /// Values are starts of documents below `high`. A document has at most `maxLength` rows; 0 means
  /// no limit.
  virtual void addStarts(const SizeExpr &high, int64_t maxLength = 0) = 0;
  /// Values count rows within the documents that begin at `starts`.
  virtual void addWithin(mlir::Value starts) = 0;
  /// Adds the limits of the readers of `copy`, which holds the same values.
  virtual void addReadersOf(mlir::Value copy) = 0;
};

/// An op that reduces whole rows. It cannot run on the tiles of another kernel.
template <typename ConcreteOp>
class ReducesRows : public mlir::OpTrait::TraitBase<ConcreteOp, ReducesRows> {};
/// An op that multiplies matrices.
template <typename ConcreteOp>
class Contracts : public mlir::OpTrait::TraitBase<ConcreteOp, Contracts> {};
/// An op that treats all leading dimensions alike, as if they were one dimension of rows.
template <typename ConcreteOp>
class RowsAlike : public mlir::OpTrait::TraitBase<ConcreteOp, RowsAlike> {};

} // namespace heddle::transformer

#include "heddle/Dialect/Transformer/IR/OpInterfaces.h.inc"

namespace heddle::transformer {

/// The ops of a block that read tables: for each table, the first op that reads it.
llvm::SmallVector<TransformerOpInterface> readersOfTables(mlir::Block &block);

} // namespace heddle::transformer
