//===- Commands.h - Commands of training -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implementations of commands; the tools declare their flags.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace heddle {

/// `vocabulary`: the words of data files, one a line.
struct VocabularyCommand {
  std::vector<std::string> files;
  int64_t column = 1;          ///< column of each line between tabs, from 1
  std::string split = "space"; ///< or "character"
  int64_t least = 1;           ///< occurrences of a word
  std::optional<int64_t> most; ///< lines of the file, special words included
  std::string output;          ///< empty or "-": standard output
};

/// Writes the special words <pad>, <unk>, <s> and <e>, and then words by frequency. Equally
/// frequent words are in the order of their first occurrence.
Status vocabularyCommand(const VocabularyCommand &command, std::ostream &notes);

} // namespace heddle
