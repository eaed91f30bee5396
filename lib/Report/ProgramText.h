//===- ProgramText.h - A program as people read it -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace heddle {

/// Whether all dimensions of a function have values.
bool allKnown(const Function &function, const Dimensions &dims);

/// The text of a program, which `fused` became; with values for its dimensions also sizes and costs
/// of functions whose dimensions are all given. Buffers are summed up and equal layers stand once;
/// with `all` each stands in full.
Expected<std::string> programText(mlir::ModuleOp fused, const Program &program,
                                  const Dimensions &dims, bool all);

/// The layers of a function and the shapes of data on its way: `body` is the function at the fused
/// stage, `function` what became of it, a launch a group.
Expected<std::string> layerText(mlir::func::FuncOp body, const Function &function,
                                const Dimensions &dims, bool all);

} // namespace heddle
