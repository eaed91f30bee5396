//===- FolderLanguages.h - Languages and tasks of a folder ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts for `translate`: language tokens and their placement, and tasks with the prefix of a text.
#pragma once

#include "Description.h"

namespace heddle {

/// Adds `languages` to the facts of an encoder-decoder whose tokenizer has language tokens.
Status addLanguages(const Json &config, Description &description);
/// Adds `tasks` from `task_specific_params` of the configuration.
Status addTasks(const std::string &folder, const Json &config, Description &description);

} // namespace heddle
