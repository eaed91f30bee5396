//===- MissedFusion.h - Why two ops did not become one kernel -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one list of reasons for which a fusion is not made, each with what would
// have to change. `heddle explain` prints them, each has a test.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace heddle {

enum class MissedFusion {
  SeveralUses,       ///< the value has other readers, so it must reach memory
  RowReduction,      ///< the reader needs whole rows, the kernel holds tiles of columns
  SecondContraction, ///< the reader is a contraction of its own
  FunctionResult,    ///< the value leaves the function
  SessionState,      ///< the value is stored in the session's memory, that is where it is read
  ConsumerBetween,   ///< a reader stands before the last op of the kernel
  TooManyParts,      ///< a launch has room for a limited number of parts
  UnevenHeads,       ///< heads that 16 does not divide lie padded, the reader needs whole rows
  NoEpilogue,        ///< the kernel has no epilogue that does what the reader does
  OtherReader,       ///< the projections do not feed the same attention
};

/// Kebab-case name, used in attributes and tests: "several-uses".
llvm::StringRef toString(MissedFusion reason);
std::optional<MissedFusion> parseMissedFusion(llvm::StringRef text);
/// One sentence: what stands in the way.
llvm::StringRef explain(MissedFusion reason);
/// One sentence: what would have to change.
llvm::StringRef remedy(MissedFusion reason);

} // namespace heddle
