//===- FolderModel.h - Opening a folder or a GGUF file ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Description.h"
#include "FolderTexts.h"
#include "SentenceModules.h"

#include "heddle/Pack/WeightSource.h"

namespace heddle {

/// A folder or a GGUF file that is being imported.
struct FolderModel {
  std::string root;   ///< path that the user named
  std::string folder; ///< folder of the model; in Sentence-Transformers it may be inside `root`
  std::optional<SentenceModules> modules;
  Json config;
  std::vector<std::string> files;    ///< files that were read
  std::vector<std::string> warnings; ///< lines for the user of the model

  static Expected<FolderModel> open(const std::string &root);
  /// Class of Transformers that the configuration names; empty: none.
  std::string className() const;
  /// Opens the checkpoint. If there is none, the error names the class of the configuration.
  Expected<std::unique_ptr<WeightSource>> openWeights();
  /// Returns whether modules replace the model's head.
  bool hasStages() const { return modules && !modules->ofHead; }
  bool isStatic() const { return modules && modules->first == FirstModule::Static; }
  TokenizerChanges tokenizerChanges() const {
    return {.lowers = modules && modules->lowers, .leavesSpecials = isStatic()};
  }
};

/// Adds the stages of modules.json that follow the model. Excluding a prompt from pooling does not
/// change the pooling `last`. A pooling whose weights count rows from the beginning needs the whole
/// text, so text commands refuse a prompt there.
Status addModules(FolderModel &model, Json &description);

/// Limits the length of texts as Sentence-Transformers does: by the model's settings, or else by
/// the tokenizer's.
Status limitTexts(const FolderModel &model, bool givesVectors, Description &description);

} // namespace heddle
