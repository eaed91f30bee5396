//===- MaskText.h - Masks as expressions -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask of the IR in the words of a description.
#pragma once

#include <string>

namespace mlir {
class Value;
} // namespace mlir

namespace heddle {

/// "causal(0) & lengths(target.lengths)"; "none" for no mask. A mask of very many ops ends in dots.
std::string maskText(mlir::Value mask);

/// The name of a function's argument, or what else the value is.
std::string inputName(mlir::Value value);

} // namespace heddle
