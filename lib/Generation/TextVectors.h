//===- TextVectors.h - Vectors of texts ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `embed`, `similarity` and `rerank` share.
#pragma once

#include "EncoderTexts.h"

namespace heddle {

/// Error unless a text has one row.
Status checkPooled(const OpenedEncoder &opened);
/// The vector that the folder means: the first values of a row where it says so; zeros of no row.
std::vector<float> vectorOf(const OpenedEncoder &opened, std::span<const float> row);

} // namespace heddle
