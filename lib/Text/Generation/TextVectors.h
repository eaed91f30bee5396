//===- TextVectors.h - Vectors of texts ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of `embed`, `similarity` and `rerank`.
#pragma once

#include "EncoderTexts.h"

namespace heddle {

/// Returns an error unless a text has one row.
Status checkPooled(const OpenedEncoder &opened);
/// The vector that the folder defines: the leading values of a row if it says so; zeros for an
/// empty row.
std::vector<float> vectorOf(const OpenedEncoder &opened, std::span<const float> row);

} // namespace heddle
