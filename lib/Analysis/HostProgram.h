//===- HostProgram.h - Emitted code, run on the host ------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of arith, math, scf.for and calls of host functions as a list of steps
// over slots. A slot holds the 32-bit elements of a scalar or a tile; i1 is 0 or
// 1, f32 its bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <functional>
#include <string>
#include <vector>

namespace heddle::transformer {

using Elements = std::vector<uint32_t>;

class HostProgram {
public:
  /// A function that the code calls: reads operands, fills results.
  using Function = std::function<void(llvm::ArrayRef<const Elements *> operands,
                                      llvm::ArrayRef<Elements *> results)>;
  using Resolver = llvm::function_ref<Function(llvm::StringRef name)>;

  /// Returns an error's text, or nothing; `resolve` finds called functions while this runs.
  std::string compile(mlir::Block &block, Resolver resolve);
  void setArgument(unsigned index, int64_t value) {
    *slot(arguments[index]) = {static_cast<uint32_t>(value)};
  }
  void run() { runSteps(steps); }
  const Elements &result(mlir::Value value) { return *slot(value); }

  /// A division by zero, a quotient that does not fit, or a shift too far was met.
  bool trapped = false;

private:
  using Step = std::function<void()>;
  static void runSteps(const std::vector<Step> &steps) {
    for (const Step &step : steps)
      step();
  }
  Elements *slot(mlir::Value value);
  std::vector<Step> compileBlock(mlir::Block &block, Resolver resolve);
  Step compileOp(mlir::Operation *op, Resolver resolve);
  Step compileConstant(mlir::Operation *op);
  Step compileInteger(mlir::Operation *op);
  Step compileGuarded(mlir::Operation *op);
  Step compileCompare(mlir::Operation *op);
  Step compileSelect(mlir::Operation *op);
  Step compileFloat(mlir::Operation *op);
  Step compileFor(mlir::Operation *op, Resolver resolve);
  Step compileCall(mlir::Operation *op, Resolver resolve);
  template <typename F>
  Step unary(mlir::Operation *op, F f);
  template <typename F>
  Step binary(mlir::Operation *op, F f);

  llvm::DenseMap<mlir::Value, std::unique_ptr<Elements>> slots;
  llvm::SmallVector<mlir::Value> arguments;
  std::vector<Step> steps;
  std::string error;
};

} // namespace heddle::transformer
