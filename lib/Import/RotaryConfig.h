//===- RotaryConfig.h - Configuration keys of rotary positions --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locates rotary positions in a configuration: `rope_scaling` and keys next to it (Transformers 4),
// or `rope_parameters` (Transformers 5), which may have one object per layer type.
#pragma once

#include "Schema.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// Keys that the Transformers class of a family adds.
struct RotaryClass {
  bool byLayerType = false; ///< reads `full_attention` and `sliding_attention`
  /// Whether `rope_scaling` applies to both layer types; otherwise to `full_attention` only.
  bool scalesBoth = false;
  const char *base = "rope_theta", *part = "partial_rotary_factor"; ///< older keys of one object
  std::optional<int64_t> original; ///< default of original_max_position_embeddings
};

/// Moves the keys of `config` to where the newest Transformers reads them. Appends to `notes` a
/// line for each conflicting key and for each key that is not read.
void chooseRotary(Json &config, const RotaryClass &family, std::vector<std::string> &notes);

} // namespace heddle
