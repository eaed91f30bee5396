//===- ImportOptions.h - Options for reading a model ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options that select or change the model that a file or a folder contains.
#pragma once

#include "heddle/Support/Fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// A user's choices that change a model or its code. From this list of fields follow the flags of
/// the commands, their help (choiceHelp), the key of the cache, and the error for a compiled file,
/// which no choice can change. `cacheDtype` is the flag --cache-dtype.
struct ModelChoices {
  /// Format of products: a name in Support/Formats.h; empty: the model's (see chooseFormat).
  std::string dtype;
  /// Type of the keys and values that sessions cache: f32, bf16, f16 or int8; empty: it follows
  /// `dtype`.
  std::string cacheDtype;
  /// Replacements of masks, NAME=EXPR. NAME is a key path of the description ("decoder.mask",
  /// "encoder.3.mask"), or the name of a mask op in dialect text.
  std::vector<std::string> mask;
  /// Part of a Hugging Face folder with several models, such as CLIP's texts and images; empty: both
  /// of texts and images, else the first.
  std::string part;
  /// Word of `encoder.pool` that replaces the head of a Hugging Face folder; empty: as the folder
  /// says.
  std::string pool;
  /// Capacity of the caches of a model with a target, in tokens, instead of `target.limit`. For a
  /// Hugging Face folder the maximum is its number of positions, and the default is at most 4096.
  std::optional<int64_t> context;
  /// Safetensors file with the weights of dialect text; empty: none.
  std::string weights;
  /// Folder of a LoRA adapter of peft, which is merged into the weights of a Hugging Face folder;
  /// empty: none.
  std::string adapter;
  /// Adds the functions of training: `loss` and `gradients`.
  bool training = false;
  /// Classes of texts for which a Hugging Face folder is trained; empty: the folder's own.
  std::vector<std::string> labels;
  /// JSON file with keys of the section `training` for a folder; empty: none.
  std::string recipe;
  /// Value of `training.keep` in place of the recipe's: all, layers or a number; empty: the recipe's.
  std::string keep;
  HEDDLE_FIELDS(0, dtype, cacheDtype, mask, part, pool, context, weights, adapter, training, labels,
                recipe, keep)
};

/// Flag of a field of ModelChoices: "--cache-dtype" of "cache_dtype".
std::string choiceFlag(const std::string &field);
/// Help for the flag of a field of ModelChoices, in one line.
std::string choiceHelp(const std::string &field);
/// Flags and values of the choices that differ from the default: {"--context", "512"}. A list has an
/// element for each value.
std::vector<std::pair<std::string, std::string>> givenChoices(const ModelChoices &choices);

struct ImportOptions : ModelChoices {
  /// Requests one vector per text: a folder without a pooling uses the mean, with a warning.
  bool needsVectors = false;
  /// Requests text or image files as input: a tokenizer or preprocessor that cannot be read is an
  /// error. If false, it is a warning, and the model takes ids or numbers.
  bool needsTexts = false;
  /// Returns the attention weights of every head, whatever "return-weights" of the description is.
  bool attentionWeights = false;
  /// If false, the checkpoint is not opened, and ImportedModel::weights has no tensors. Questions
  /// about the model need no checkpoint.
  bool needsWeights = true;
  /// Files that will be written. It is an error if the model is read from one of them.
  std::vector<std::string> outputs;
};

} // namespace heddle
