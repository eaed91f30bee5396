//===- LayerText.h - Layers of a function as people read them --*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters and costs of each layer, and shapes as data passes, for `heddle inspect`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Support/Program.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace heddle {

/// `body` is the function at the fused stage, `function` what became of it: a launch a group.
/// Costs need values for all dimensions.
Expected<std::string> layerText(mlir::func::FuncOp body, const Function &function,
                                const Dimensions &dims);

} // namespace heddle
