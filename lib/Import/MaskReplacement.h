//===- MaskReplacement.h - Replacing masks in dialect text ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements `--mask NAME=EXPR` for dialect text: NAME is the `transformer.name` of a mask op.
#pragma once

#include "heddle/Support/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace heddle {

/// Replaces the masks named by `options` (NAME=EXPR). Inputs in an expression become arguments if
/// they are new; arguments that only an old mask used are removed.
Status replaceMasks(mlir::ModuleOp module, const std::vector<std::string> &options,
                    const std::string &path);

} // namespace heddle
