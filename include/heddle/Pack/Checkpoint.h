//===- Checkpoint.h - The weights of a Hugging Face folder -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Pack/WeightSource.h"

namespace heddle {

/// Opens model.safetensors of `folder`, or the shards that model.safetensors.index.json lists, as one
/// source. Each file that is read is appended to `files`. A folder with other formats only is an
/// error that says how to convert them.
Expected<std::unique_ptr<WeightSource>> openCheckpoint(const std::string &folder,
                                                       std::vector<std::string> &files);

} // namespace heddle
