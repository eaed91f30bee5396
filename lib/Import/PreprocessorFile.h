//===- PreprocessorFile.h - Steps of images and sound -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Description.h"

namespace heddle {

/// The steps that turn an image or a sound into numbers, as a folder has them.
struct PreprocessorFile {
  std::string place; ///< the file, and the key in it where the steps are a part of it
  std::string text;  ///< JSON
};

/// Whether a folder has a file of such steps.
bool hasPreprocessor(const std::string &folder);

/// Reads them: the object `part` of processor_config.json, which Transformers 5 writes and prefers
/// ("image_processor", "feature_extractor"), else preprocessor_config.json. Adds the file to the
/// description, and a warning if both are there and differ.
Expected<PreprocessorFile> readPreprocessor(const std::string &folder, const char *part,
                                            Description &description);

} // namespace heddle
