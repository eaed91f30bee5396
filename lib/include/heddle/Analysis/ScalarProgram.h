//===- ScalarProgram.h - Interpreter of scalar arith and math ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter of arith and math on scalars. It evaluates formulas in the
// reference, elementwise ops of models, and the code that masks emit for
// kernels. Values are doubles: integers are exact (i1 is 0 or 1), and f32
// results are rounded after each op.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <vector>

namespace heddle {

/// Computes one op from its operands, without rounding the result to f32.
using ScalarOp = std::function<double(const double *operands)>;

/// The elementwise semantics of an arith or math op; null for other ops. Every integer op is total,
/// as in `mask.where`: x / 0 is 0, and a shift by less than 0 or more than 31 yields 0 (-1 for
/// `shrsi` of a negative number).
ScalarOp scalarOp(mlir::Operation *op);

/// The number in the attribute of an arith.constant, or the element of a splat.
double scalarNumber(mlir::Attribute attribute);

/// A block of arith, math, scf.for and calls to host functions, compiled to a list of steps over
/// numbered cells. Tensors in the block have one element.
class ScalarProgram {
public:
  using Function = std::function<void(const double *operands, double *results)>;
  /// Access to values and ops from outside the block.
  struct Site {
    /// The value of a number defined outside the block.
    std::function<double(mlir::Value)> captured;
    /// A function for an op that `scalarOp` does not support; a null function is an error. Tensors
    /// from outside the block are not part of `operands`.
    std::function<Function(mlir::Operation *)> function;
  };
  using Cells = std::vector<double>;

  /// Compiles the block. Returns the first op that has no function, or null.
  mlir::Operation *compile(mlir::Block &block, const Site &site);
  /// The cell of a value. A value that no compiled op uses must be defined in the block.
  unsigned cellOf(mlir::Value value, const Site &site);

  /// Runs the steps and returns all cells. `arguments` are the values of the block's arguments,
  /// whose cells come first. Thread-safe if the functions of the site are.
  Cells run(llvm::ArrayRef<double> arguments) const;
  /// Whether an op of the run had operands for which a device traps or returns an unspecified
  /// value: division by zero, an overflowing quotient, a shift out of range.
  bool hasTrapped(const Cells &cells) const { return cells[trapped] != 0; }

private:
  using Step = std::function<void(double *cells)>;
  using Steps = std::vector<Step>;
  unsigned addCell(double initial);
  mlir::Operation *compileBlock(mlir::Block &block, const Site &site, Steps &into);
  mlir::Operation *compileLoop(mlir::Operation *op, const Site &site, Steps &into);
  Function functionOf(mlir::Operation *op, const Site &site);

  Cells cells; ///< initial values: constants and captured numbers
  Steps steps;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  unsigned trapped = 0;
};

} // namespace heddle
