//===- WidenedKeys.h - Attention in f32 with keys of f16 --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "llvm/ADT/StringRef.h"

namespace heddle::transformer {

/// Attribute of an attention of f32 whose keys and values caches keep as f16: its types are those of
/// attention in f16, but matrix units, which round queries, may not take it.
constexpr llvm::StringLiteral widensKeys = "transformer.widens_keys";

} // namespace heddle::transformer
