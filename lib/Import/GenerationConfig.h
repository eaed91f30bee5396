//===- GenerationConfig.h - How a folder's model is meant to write ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Schema.h"

namespace heddle {

/// Takes the tokens that end a text and the settings of searches from generation_config.json, or
/// where there is none from `config`, into `target` of a description. Adds the file to `files`, and
/// a warning for each setting that changes texts and is not followed.
/// `translates`: the model reads a text and writes another.
Status addGenerationConfig(const std::string &folder, const Json &config, bool translates,
                           Json &target, std::vector<std::string> &files,
                           std::vector<std::string> &warnings);

/// The settings of searches for a task of such a folder: `settings`, and behind them the folder's own.
Expected<Json> taskGeneration(const std::string &folder, const Json &config, const Json &settings);

} // namespace heddle
