//===- DialectText.h - Reading dialect text ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Import/Import.h"

namespace heddle {

/// Parses and verifies a .mlir file; its `transformer.weight` ops define the expected tensors.
Expected<ImportedModel> importDialectText(const std::string &path, const ImportOptions &options,
                                          mlir::MLIRContext &context);

} // namespace heddle
