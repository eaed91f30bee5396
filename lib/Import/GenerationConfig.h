//===- GenerationConfig.h - How a folder's model is meant to write ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Schema.h"

namespace heddle {

/// Takes the tokens that end a text and the settings of searches from generation_config.json, or
/// where there is none from `config`, into `target` of `description`. Adds the file to `files`, and
/// a warning for each setting that changes texts and is not followed.
Status addGenerationConfig(const std::string &folder, const Json &config, Json &description,
                           std::vector<std::string> &files, std::vector<std::string> &warnings);

/// The settings of searches for a task of a folder that reads a text and writes another in `size`
/// tokens: `settings`, and behind them the folder's own, which are known to be right. Errors begin
/// with `place`.
Expected<Json> taskGeneration(const std::string &folder, const Json &config, const Json &settings,
                              const std::string &place, int64_t size);

} // namespace heddle
