//===- Checkpoint.h - Checkpoints of Hugging Face folders ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint is one safetensors file, or several shards with an index.
#pragma once

#include "heddle/Pack/WeightSource.h"

namespace heddle {

/// Opens model.safetensors of `folder`, or the shards of model.safetensors.index.json, as one
/// source, whose tensors have the names of their model (TensorNames.h). Appends each file that is
/// read to `files`. The error for a folder with other formats only tells how to convert them: by
/// the class `className` of Transformers, empty where no file names one.
Expected<std::unique_ptr<WeightSource>> openCheckpoint(const std::string &folder,
                                                       std::vector<std::string> &files,
                                                       const std::string &className = {});

} // namespace heddle
