//===- RotaryScaling.h - Scaling of rotary positions ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the angles of scaled rotary positions. No other code distinguishes the scalings.
#pragma once

#include "Description.h"
#include "Schema.h"

namespace heddle {

/// Sets the angles of `position` for heads of `headSize` features. `limit` is the maximum length of
/// a text in tokens, by which `longrope` chooses its factors; 0: the trained context.
void scaleRotary(PositionDescription &position, int64_t headSize, int64_t limit, ErrorSink &errors);

} // namespace heddle
