//===- MissedFusion.h - Why two ops did not become one kernel -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reasons why a fusion is not done, each with an explanation and a remedy.
// `heddle explain` prints them, and each has a test.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace heddle {

enum class MissedFusion {
  SeveralUses,       ///< the value has other readers, so it must reach memory
  RowReduction,      ///< the reader needs whole rows, the kernel holds tiles of columns
  SecondContraction, ///< the reader is another contraction
  WholeSequences,    ///< the reader is attention, which needs all keys and values
  FunctionResult,    ///< the value leaves the function
  SessionState,      ///< the value is kept in the session's memory and read from there
  ConsumerBetween,   ///< a reader is between the ops of the kernel
  TooManyParts,      ///< a launch has room for a limited number of parts
  UnevenHeads,       ///< heads are stored padded; the reader needs rows
  RotatedSize,       ///< halves of rotated heads are not whole tiles
  NoEpilogue,        ///< the kernel cannot apply the reader to its tiles
  OtherReader,       ///< the projections do not feed the same attention
};

/// Kebab-case name, used in attributes and tests: "several-uses".
llvm::StringRef toString(MissedFusion reason);
std::optional<MissedFusion> parseMissedFusion(llvm::StringRef text);
/// One sentence that describes the obstacle.
llvm::StringRef explain(MissedFusion reason);
/// One sentence that describes what would have to change.
llvm::StringRef remedy(MissedFusion reason);

} // namespace heddle
