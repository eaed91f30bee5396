//===- GenerationKeys.h - Keys of generation_config.json -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys of GenerationConfig that are followed, keys that change no text, and keys that
// change texts and are not followed.
#pragma once

#include "Schema.h"

namespace heddle {

/// Appends a warning for each setting of `config` that changes texts and is not followed.
void warnOfUnfollowedSettings(const Json &config, const std::string &path,
                              std::vector<std::string> &warnings);

/// Settings of speech models that change texts and are not followed, and the values with which they
/// change nothing.
std::vector<std::pair<std::string, Json>> unfollowedOfSpeech();

/// Appends a warning for each key of `config` that is not known. SpeechConfig.cpp knows the keys of
/// speech models.
void warnOfUnknownSettings(const Json &config, const std::string &path,
                           std::vector<std::string> &warnings);

} // namespace heddle
