//===- FolderPair.h - Texts and images of one space --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Import/Import.h"

namespace heddle {

/// Reads both parts of a folder whose architecture joins them: `encode` is the first part's, of
/// texts, and imageFunction the second's. Tensors of the second have `image.` before their names.
Expected<ImportedModel> importPair(const std::string &root, const std::string &texts,
                                   const std::string &images, const ImportOptions &options,
                                   mlir::MLIRContext &context);

} // namespace heddle
