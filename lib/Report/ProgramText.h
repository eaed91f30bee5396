//===- ProgramText.h - Text of a program -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text of functions, layers, buffers and kernels, for `heddle inspect`.
#pragma once

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <nlohmann/json_fwd.hpp>

namespace heddle {

/// Whether all dimensions of a function have values.
bool allKnown(const Function &function, const Dimensions &dims);

/// Text of a program and its module `fused`. Functions whose dimensions are all in `dims` also have
/// sizes and costs. Without `all`, buffers are summed up and equal layers printed once.
Expected<std::string> programText(mlir::ModuleOp fused, const Program &program,
                                  const Dimensions &dims, bool all);

/// Adds `functions` and `kernels` of a program. Functions whose dimensions are all in `dims` also
/// have `flops`, the bytes read and written, and the bytes of buffers.
Status addProgramJson(const Program &program, const Dimensions &dims,
                      nlohmann::ordered_json &report);

/// Layers of a function and shapes along its data flow. `body` is the function at the fused stage,
/// `function` its program with a launch for each group.
Expected<std::string> layerText(mlir::func::FuncOp body, const Function &function,
                                const Dimensions &dims, bool all);

} // namespace heddle
