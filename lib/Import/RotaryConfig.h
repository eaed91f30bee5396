//===- RotaryConfig.h - Keys of rotary positions ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a configuration says its rotary positions: `rope_scaling` and keys next to it (Transformers
// 4), or `rope_parameters` (Transformers 5), which may have an object for each type of layer.
#pragma once

#include "Schema.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// What Transformers' class of a family adds to the keys of a configuration.
struct RotaryClass {
  bool byLayerType = false; ///< reads `full_attention` and `sliding_attention`
  /// Whether a `rope_scaling` of such a class is that of both types; else of `full_attention`.
  bool scalesBoth = false;
  const char *base = "rope_theta", *part = "partial_rotary_factor"; ///< older keys of one object
  std::optional<int64_t> original; ///< original_max_position_embeddings where the file has none
};

/// Puts the keys of `config` where the newest Transformers reads them. Appends a line for each key
/// that says two things, and for each that it does not read.
void chooseRotary(Json &config, const RotaryClass &family, std::vector<std::string> &notes);

} // namespace heddle
