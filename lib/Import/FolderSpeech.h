//===- FolderSpeech.h - What a folder says of speech -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Description.h"

namespace heddle {

/// What the folder of a model that hears says of sound, which the compiled model carries; where it
/// cannot be followed, that is an error if files will come, else a warning.
Status addSpeech(const std::string &folder, const Json &config, bool needsFiles,
                 Description &description);

} // namespace heddle
