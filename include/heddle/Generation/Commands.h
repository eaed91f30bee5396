//===- Commands.h - Text commands for both drivers -------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `heddle translate` and `heddle-run translate` do once the command line is
// read. The tools parse and print errors; everything else is decided here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Runtime/Session.h"

#include <array>
#include <iosfwd>

namespace heddle {

struct TranslateCommand {
  std::vector<std::string> texts; ///< empty: the lines of standard input
  int64_t batch = 1;              ///< texts translated together; the results do not depend on it
  std::optional<int64_t> limit;   ///< tokens of a translation; default: the model's `target.limit`
  bool truncate = false;          ///< cut texts that are longer than `source.length`
};

/// An option of the text commands that is planned and not built yet.
struct FutureOption {
  const char *flag;
  bool takesValue;
};
inline constexpr std::array<FutureOption, 9> futureTextOptions = {{{"--beam", true},
                                                                   {"--length-penalty", true},
                                                                   {"--sample", false},
                                                                   {"--temperature", true},
                                                                   {"--top-k", true},
                                                                   {"--top-p", true},
                                                                   {"--seed", true},
                                                                   {"--stream", false},
                                                                   {"--attention", true}}};
/// What to answer where one is given.
Error notBuiltYet(std::string_view what);

/// Translates every text, one line each, in order. An empty text gives an empty line. Notes about
/// cut texts go to `notes`.
Status translateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                        std::ostream &out, std::ostream &notes);

} // namespace heddle
