//===- WithoutMatrices.h - Attention without matrix units -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "llvm/ADT/StringRef.h"

namespace heddle::transformer {

/// Attribute of an attention that must not use matrix units, although its types permit them. It
/// marks two cases. In an f32 attention whose cached keys and values are f16, the units would round
/// queries. In a model with a function that returns weights, the weights are computed without the
/// units, and all functions must give the same bits.
constexpr llvm::StringLiteral withoutMatrices = "transformer.without_matrices";

} // namespace heddle::transformer
