//===- MaskText.h - Masks as expressions -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints masks of the IR in the syntax of model descriptions.
#pragma once

#include <string>

namespace mlir {
class Value;
} // namespace mlir

namespace heddle {

/// Text of a mask, "causal(0) & lengths(target.lengths)"; "none" for a null value. Very long masks
/// are cut with dots.
std::string maskText(mlir::Value mask);

/// Name of a function's argument or of a cache's length; "a computed value" for other values.
std::string inputName(mlir::Value value);

} // namespace heddle
