//===- WithoutMatrices.h - Attention without matrix units -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "llvm/ADT/StringRef.h"

namespace heddle::transformer {

/// Attribute of an attention that matrix units may not take, though its types are such: of f32 whose
/// keys and values caches keep as f16, since the units round queries; and of a model one of whose
/// functions returns weights, which are computed without them, so that all its functions give the same
/// bits.
constexpr llvm::StringLiteral withoutMatrices = "transformer.without_matrices";

} // namespace heddle::transformer
