//===- Dims.h - Dimensions in commands and messages ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting of shapes in messages, and checks of --dim.
#pragma once

#include "heddle/Support/SizeExpr.h"
#include "heddle/Support/Text.h"

#include <algorithm>

namespace heddle {

/// Text of a shape: "[B, S, 512]".
inline std::string shapeText(const std::vector<SizeExpr> &shape) {
  return shape.empty() ? "[]" : "[" + listText(shape, &SizeExpr::str) + "]";
}

/// Usage error for a name in `--dim` that is not in `known`, since it would have no effect.
template <typename Names>
Status checkNames(const Dimensions &dims, const Names &known) {
  for (const auto &[name, value] : dims)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return usageError("--dim: expected a dimension of " + listText(known) + ", found " +
                        quotedText(name));
  return {};
}

} // namespace heddle
