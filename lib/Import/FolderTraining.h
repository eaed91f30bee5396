//===- FolderTraining.h - Hugging Face folders that are trained -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Training of an encoder's folder for classes of texts: the head, the recipe, and what a run writes
// so that Transformers loads the result.
#pragma once

#include "Architecture.h"
#include "FolderModel.h"

#include "heddle/Import/Import.h"
#include "heddle/Training/StoredTensors.h"

namespace heddle {

/// Writes the classes of `--labels` and the class of their head to the configuration. Without labels,
/// checks that the model classifies texts.
Status prepareTraining(const ImportOptions &options, FolderModel &model);

/// The section `training` of a description: the settings of Transformers' Trainer with the dropout
/// of the configuration, and over them the keys of `--recipe`.
Expected<Json> recipeOf(Architecture &architecture, const ImportOptions &options);

/// Adds the folder's configuration and tokenizer files, which a run writes next to its weights.
Status addFolderFiles(const FolderModel &model, ImportedModel &imported);

/// Collects where the checkpoint stores each tensor of the model.
class StoredTensorsBuilder {
public:
  explicit StoredTensorsBuilder(Architecture &architecture) : architecture(architecture) {}
  /// A tensor whose view reads the checkpoint. Error if the view computes elements.
  Status add(const TensorInfo &tensor, const TensorView &view, const std::string &file);
  /// A tensor that the checkpoint lacks.
  Status addFresh(const TensorInfo &tensor);
  /// Error if two tensors of the model have the same elements.
  Expected<StoredTensors> take(const std::string &file);

private:
  StoredTensor &stored(const std::string &name, const std::vector<int64_t> &shape);

  Architecture &architecture;
  StoredTensors made;
  std::vector<std::string> zeros; ///< tensors that must be zeros
};

} // namespace heddle
