//===- ImportOptions.h - Options for reading a model ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options that select or change the model that a file or a folder contains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

struct ImportOptions {
  /// Replacements of masks, NAME=EXPR. NAME is a key path of the description ("decoder.mask",
  /// "encoder.3.mask"), or the name of a mask op in dialect text.
  std::vector<std::string> masks;
  /// Part of a Hugging Face folder with several models, such as CLIP's texts and images; empty: the
  /// first.
  std::string part;
  /// Word of `encoder.pool` that replaces the head of a Hugging Face folder; empty: as the folder
  /// says.
  std::string pool;
  /// Requests one vector per text: a folder without a pooling uses the mean, with a warning.
  bool needsVectors = false;
  /// Requests text or image files as input: a tokenizer or preprocessor that cannot be read is an
  /// error. If false, it is a warning, and the model takes ids or numbers.
  bool needsTexts = false;
  /// Capacity of the caches of a model with a target, in tokens, instead of `target.limit`. For a
  /// Hugging Face folder the maximum is its number of positions, and the default is at most 4096.
  std::optional<int64_t> context;
  /// Safetensors file with the weights of dialect text; empty: none.
  std::string weights;
  /// Returns the attention weights of every head, whatever "return-weights" of the description is.
  bool attentionWeights = false;
  /// If false, the checkpoint is not opened, and ImportedModel::weights has no tensors. Questions
  /// about the model need no checkpoint.
  bool needsWeights = true;
};

} // namespace heddle
