//===- Checkpoint.h - Checkpoints of Hugging Face folders ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a checkpoint: one safetensors file, or several shards with an index.
#pragma once

#include "heddle/Pack/WeightSource.h"

namespace heddle {

/// Opens model.safetensors of `folder`, or the shards of model.safetensors.index.json, as one
/// source. Tensors have their model's names (TensorNames.h). Appends each file that is read to
/// `files`. For a folder that has only other formats, the error says how to convert them with
/// Transformers' class `className` (empty if no file names one).
Expected<std::unique_ptr<WeightSource>> openCheckpoint(const std::string &folder,
                                                       std::vector<std::string> &files,
                                                       const std::string &className = {});

} // namespace heddle
