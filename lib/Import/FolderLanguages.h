//===- FolderLanguages.h - What a folder's model is told -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts for `translate`: the tokens of languages and where they stand, and tasks with
// the words in front of a text.
#pragma once

#include "Description.h"

namespace heddle {

/// Adds `languages` to the facts of a model that reads a text and writes another, where its tokenizer
/// has tokens for them.
Status addLanguages(const Json &config, Description &description);
/// Adds `tasks`: `task_specific_params` of the configuration.
Status addTasks(const std::string &folder, const Json &config, Description &description);

} // namespace heddle
