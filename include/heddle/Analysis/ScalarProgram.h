//===- ScalarProgram.h - Code on scalars, run on the host -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one evaluator of arith and math: formulas in the reference, elementwise ops
// of models, and the code that masks emit for kernels all run by it. A number is
// a double: integers are exact (i1 is 0 or 1), and f32 numbers are rounded after
// each op of a program.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <vector>

namespace heddle {

/// The value of an op from those of its operands, not rounded to f32.
using ScalarOp = std::function<double(const double *operands)>;

/// The meaning of an op of arith or math, elementwise on tensors; null where it has none here. Every
/// integer op has a value for all operands: x / 0 and a shift too far give 0.
ScalarOp scalarOp(mlir::Operation *op);

/// The number that an attribute of an arith.constant holds; of a splat, its element.
double scalarNumber(mlir::Attribute attribute);

/// A block of arith, math, scf.for and functions of the host, as a list of steps over numbered
/// cells. Tensors inside the block hold one element.
class ScalarProgram {
public:
  using Function = std::function<void(const double *operands, double *results)>;
  /// What the block takes from outside.
  struct Site {
    /// A number that is defined outside the block.
    std::function<double(mlir::Value)> captured;
    /// An op without a meaning of its own; null where it has none at all. Tensors from outside are
    /// left out of `operands`.
    std::function<Function(mlir::Operation *)> function;
  };
  using Cells = std::vector<double>;

  /// Returns the first op that nothing gives a meaning to, or null.
  mlir::Operation *compile(mlir::Block &block, const Site &site);
  /// The number of a value's cell. Values that the code does not use must come from the block.
  unsigned cellOf(mlir::Value value, const Site &site);

  /// The cells after a run, arguments of the block first.
  Cells run(llvm::ArrayRef<double> arguments) const;
  /// Whether some op of the run had operands for which a device traps or has no value: a division
  /// by zero, a quotient that does not fit, a shift too far.
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
