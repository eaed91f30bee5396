//===- FolderTask.h - Task facts of a folder --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts for text commands that do not change the model: the interpretation of class scores, the
// mask token, prompts.
#pragma once

#include "Description.h"
#include "SentenceModules.h"

namespace heddle {

/// Adds the facts to `description.facts` and the files to `description.files`. `root` is the path
/// that the user named. `folder` is the model's folder, which Sentence-Transformers may put inside
/// `root`.
Status addTask(const std::string &root, const std::string &folder, const Json &config,
               const std::string &head, const std::optional<SentenceModules> &modules,
               Description &description);

} // namespace heddle
