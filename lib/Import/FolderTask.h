//===- FolderTask.h - What a folder's model is for -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts that change no number of the model and that text commands need: how the
// numbers of classes are read, which token stands for a masked word, prompts.
#pragma once

#include "Description.h"
#include "SentenceModules.h"

namespace heddle {

/// Adds to `description.task` and `description.files`. `root` is the folder that the user names.
/// `folder` is the model's folder, which Sentence-Transformers may put inside.
Status addTask(const std::string &root, const std::string &folder, const Json &config,
               const std::string &head, const std::optional<SentenceModules> &modules,
               Description &description);

} // namespace heddle
