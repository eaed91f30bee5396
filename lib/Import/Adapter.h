//===- Adapter.h - Adapters of peft -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adapters that the library peft saves: adapter_config.json and adapter_model.safetensors.
#pragma once

#include "Schema.h"

#include "heddle/Pack/WeightSource.h"

#include <memory>

namespace heddle {

/// A source of the checkpoint's tensors into which the LoRA adapter of `folder` is merged. A matrix
/// W becomes W + scale * B * A (Hu et al., LoRA: Low-Rank Adaptation of Large Language Models);
/// tensors that the adapter stores whole replace tensors of the checkpoint. `config` is the
/// configuration of the model. Appends the files that are read to `files`, and a warning for each
/// key that nothing follows to `warnings`.
Expected<std::unique_ptr<WeightSource>> mergeAdapter(const std::string &folder, const Json &config,
                                                     std::unique_ptr<WeightSource> checkpoint,
                                                     std::vector<std::string> &files,
                                                     std::vector<std::string> &warnings);

} // namespace heddle
