//===- FolderImport.h - Hugging Face folders as modules --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Import/Import.h"

namespace heddle {

/// Imports a folder with config.json and safetensors, or a GGUF file, with the architecture file of
/// its `model_type`.
Expected<ImportedModel> importFolder(const std::string &folder, const ImportOptions &options,
                                     mlir::MLIRContext &context);

} // namespace heddle
