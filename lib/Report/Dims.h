//===- Dims.h - Sizes that a question gives --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Support/SizeExpr.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace heddle {

/// A name of `--dim` that the model does not know would be ignored silently.
template <typename Names>
Status checkNames(const Dimensions &dims, const Names &known) {
  for (const auto &[name, value] : dims)
    if (!llvm::is_contained(known, name))
      return usageError("--dim: expected a dimension of " +
                        (known.begin() == known.end() ? "none" : llvm::join(known, ", ")) +
                        ", found " + quotedText(name));
  return {};
}

} // namespace heddle
