//===- FolderModel.h - What a folder or a GGUF file holds ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Description.h"
#include "FolderTexts.h"
#include "SentenceModules.h"

#include "heddle/Pack/WeightSource.h"

namespace heddle {

/// A folder or a GGUF file on its way to a model.
struct FolderModel {
  std::string root;   ///< what the user names
  std::string folder; ///< of the model, which Sentence-Transformers may put inside
  std::optional<SentenceModules> modules;
  Json config;
  std::vector<std::string> files; ///< that were read

  static Expected<FolderModel> open(const std::string &root);
  /// The checkpoint; the class that the configuration names is for the message of a folder without
  /// one.
  Expected<std::unique_ptr<WeightSource>> openWeights();
  /// Whether modules follow the model, which take the place of its head.
  bool hasStages() const { return modules && !modules->ofHead; }
  bool isStatic() const { return modules && modules->first == FirstModule::Static; }
  TokenizerChanges tokenizerChanges() const {
    return {.lowers = modules && modules->lowers, .leavesSpecials = isStatic()};
  }
};

/// Limits the tokens of a text as Sentence-Transformers does: by the model's settings, else by the
/// tokenizer's.
Status limitTexts(const FolderModel &model, bool givesVectors, Description &description);

} // namespace heddle
