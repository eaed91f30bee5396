//===- PreprocessorFile.h - Preprocessors of images and audio ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Description.h"

namespace heddle {

/// A folder's preprocessor: the steps that turn an image or audio into numbers.
struct PreprocessorFile {
  std::string place; ///< the file, and the key if the preprocessor is part of it
  std::string text;  ///< JSON
};

/// Returns whether a folder has a preprocessor file.
bool hasPreprocessor(const std::string &folder);

/// Reads the object `part` ("image_processor", "feature_extractor") of processor_config.json, which
/// Transformers 5 writes and prefers, or else preprocessor_config.json. Adds the file to the
/// description, and a warning if both files exist and differ.
Expected<PreprocessorFile> readPreprocessor(const std::string &folder, const char *part,
                                            Description &description);

} // namespace heddle
