//===- KeptCodes.h - Codes that a checkpoint stores -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "llvm/ADT/StringRef.h"

namespace heddle::transformer {

/// Attribute of a weight whose tensor holds codes in the checkpoint: their type, which
/// `--dtype=file` keeps.
constexpr llvm::StringLiteral keptCodes = "transformer.codes";

} // namespace heddle::transformer
