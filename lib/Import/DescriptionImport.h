//===- DescriptionImport.h - Model descriptions as modules -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Import/Import.h"
#include "heddle/Training/Recipe.h"

namespace heddle {

/// Reads a description, builds its functions and opens its weights.
Expected<ImportedModel> importDescription(const std::string &path, const ImportOptions &options,
                                          mlir::MLIRContext &context);

struct Description;

/// As above for a parsed description, without opening weights.
Expected<ImportedModel> importWithoutWeights(Description &description, const ImportOptions &options,
                                             mlir::MLIRContext &context);

/// Sets the value of `--keep` in the recipe, and the recipe's number of kept layers in the module.
Status setKept(const std::string &keep, Recipe &recipe, mlir::ModuleOp module);

} // namespace heddle
