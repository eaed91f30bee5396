//===- GenerationConfig.h - Generation settings of a folder -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Schema.h"

#include "heddle/Support/TextFacts.h"

namespace heddle {

/// Reads end tokens and search settings from generation_config.json, or from `config` if there is
/// none, into `target` of `description`. Adds the file to `files` and a warning for each setting
/// that changes texts and is not implemented.
Status addGenerationConfig(const std::string &folder, const Json &config, Json &description,
                           std::vector<std::string> &files, std::vector<std::string> &warnings);

/// Search settings for a task of an encoder-decoder with `size` tokens: `settings`, completed by
/// the folder's own, which are already checked. Errors begin with `place`.
Expected<SearchSettings> taskGeneration(const std::string &folder, const Json &config,
                                        const Json &settings, const std::string &place,
                                        int64_t size);

} // namespace heddle
