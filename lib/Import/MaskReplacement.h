//===- MaskReplacement.h - Masks of dialect text, replaced -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--mask NAME=EXPR` for models written in the dialect: NAME is the
// `transformer.name` of a mask op.
#pragma once

#include "heddle/Support/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace heddle {

/// Writes the masks that `options` (NAME=EXPR) give in place of those of these names. Inputs that
/// an expression names are arguments, added where there are none; those that only an old mask used
/// are removed.
Status replaceMasks(mlir::ModuleOp module, const std::vector<std::string> &options,
                    const std::string &path);

} // namespace heddle
