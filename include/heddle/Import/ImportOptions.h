//===- ImportOptions.h - What is asked of a model ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options that change which model a file or a folder is, for all that read one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

struct ImportOptions {
  /// NAME=EXPR replacements of masks; NAME is a key path of the description ("decoder.mask",
  /// "encoder.3.mask").
  std::vector<std::string> masks;
  /// Of a folder with several models, such as the texts and the images of CLIP; empty: the first.
  std::string part;
  /// Of a Hugging Face folder: the word of `encoder.pool`, with which its head is left out; empty: as
  /// the folder says.
  std::string pool;
  /// One vector a text is wanted: a folder that says no pooling takes the mean, with a warning.
  bool needsVectors = false;
  /// Texts will come, or files of images: a folder whose tokenizer or steps for images cannot be read
  /// is an error. Else it is a warning, and the model takes ids or numbers.
  bool needsTexts = false;
  /// Tokens that the caches of a model with a target hold, in place of its `target.limit`; of a
  /// Hugging Face folder at most as many as it has positions, and without it at most 4096.
  std::optional<int64_t> context;
  /// Safetensors file for dialect text; empty: none.
  std::string weights;
  /// A description's layers return the weights of each head, whatever "return-weights" says.
  bool attentionWeights = false;
  /// False: questions about the model do not open its checkpoint; ImportedModel::weights then has
  /// no tensors.
  bool needsWeights = true;
};

} // namespace heddle
