//===- FolderSpeech.h - Speech facts of a folder ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Description.h"

namespace heddle {

/// Adds the speech settings of a folder, which are stored in the compiled model. Settings that
/// cannot be followed are an error if `needsFiles` (audio files will be read), and otherwise a
/// warning.
Status addSpeech(const std::string &folder, const Json &config, bool needsFiles,
                 Description &description);

} // namespace heddle
