//===- ScalarProgram.h - Interpreter of scalar arith and math ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one interpreter of arith and math: formulas in the reference, elementwise
// ops of models, and the code that masks emit for kernels all run by it. Values
// are doubles: integers are exact (i1 is 0 or 1), f32 results are rounded after
// each op.
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
/// as in `mask.where`: x / 0 is 0, a shift by less than 0 or more than 31 gives 0 (`shrsi` of a
/// negative number -1).
ScalarOp scalarOp(mlir::Operation *op);

/// The number in the attribute of an arith.constant; the element of a splat.
double scalarNumber(mlir::Attribute attribute);

/// A block of arith, math, scf.for and calls to host functions, compiled to a list of steps over
/// numbered cells. Tensors inside the block hold one element.
class ScalarProgram {
public:
  using Function = std::function<void(const double *operands, double *results)>;
  /// Access to values and ops that the block does not define itself.
  struct Site {
    /// The value of a number defined outside the block.
    std::function<double(mlir::Value)> captured;
    /// A function for an op that `scalarOp` does not know; null is an error. Tensors from outside
    /// are left out of `operands`.
    std::function<Function(mlir::Operation *)> function;
  };
  using Cells = std::vector<double>;

  /// Compiles the block; returns the first op that has no function, or null.
  mlir::Operation *compile(mlir::Block &block, const Site &site);
  /// The cell of a value. Values that no compiled op uses must come from the block.
  unsigned cellOf(mlir::Value value, const Site &site);

  /// Runs the steps and returns all cells, arguments of the block first.
  Cells run(llvm::ArrayRef<double> arguments) const;
  /// Whether an op of the run had operands for which a device traps or has an unspecified value:
  /// division by zero, a quotient that overflows, a shift out of range.
  bool hasTrapped(const Cells &cells) const { return cells[trapped] != 0; }

private:
  using Step = std::function<void(double *cells)>;
  using Steps = std::vector<Step>;
  unsigned addCell(double initial);
  mlir::Operation *compileBlock(mlir::Block &block, const Site &site, Steps &into);
  mlir::Operation *compileLoop(mlir::Operation *op, const Site &site, Steps &into);
  Function functionOf(mlir::Operation *op, const Site &site);

  Cells cells; ///< before a run: constants and captured numbers
  Steps steps;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  unsigned trapped = 0;
};

} // namespace heddle
