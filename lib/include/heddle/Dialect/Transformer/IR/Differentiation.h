//===- Differentiation.h - Adjoints of a function --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The adjoints that `DifferentiableOpInterface` reads and extends. The adjoint of a value is the
// gradient of the loss with respect to it.
#pragma once

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace heddle::transformer {

/// Adjoints of the values of one block. Ops are visited from the last to the first, so the adjoint
/// of a result is complete when its op is visited.
class Adjoints {
public:
  /// Finds the values of `block` that depend on weights. The builder's insertion point is where the
  /// backward pass is created.
  Adjoints(mlir::OpBuilder &b, mlir::Block &block);

  mlir::OpBuilder &b;

  /// The adjoint of a value; null if the loss does not depend on it.
  mlir::Value of(mlir::Value value) const { return adjoints.lookup(value); }
  /// Whether a value depends on a weight.
  bool needs(mlir::Value value) const { return active.contains(value); }
  /// Adds to the adjoint of a value. Contributions are summed in the order of the calls.
  void add(mlir::Value value, mlir::Value contribution);

  /// The gradient that an op adds to if it reads a weight.
  struct Accumulator {
    llvm::StringRef name;
    uint64_t use; ///< number of the operand among all operands that read the weight
  };
  /// None if the operand is no weight.
  std::optional<Accumulator> accumulatorOf(mlir::OpOperand &operand) const;

  /// Emits the error that an op has no derivative with, or of, `what`.
  static llvm::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &what);

private:
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, mlir::Value> adjoints;
  llvm::DenseMap<mlir::OpOperand *, Accumulator> accumulators;
};

} // namespace heddle::transformer
