//===- RotaryScaling.h - Rotary positions beyond training ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where scalings of rotary positions become numbers: whatever reads
// these knows no scaling by name.
#pragma once

#include "Description.h"
#include "Schema.h"

namespace heddle {

/// Gives `position` the angles of its scaling, for heads of `headSize` features. `limit`: the most
/// tokens of a text, by which `longrope` chooses its factors; 0: as many as in training.
void scaleRotary(PositionDescription &position, int64_t headSize, int64_t limit, ErrorSink &errors);

} // namespace heddle
