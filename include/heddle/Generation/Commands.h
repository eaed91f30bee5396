//===- Commands.h - Text commands for both drivers -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the text commands of `heddle` and `heddle-run` do once the command line is
// read. The tools parse and print errors; everything else is decided here. A text
// without tokens gives an empty line.
#pragma once

#include "heddle/Runtime/Session.h"

#include <iosfwd>
#include <optional>

namespace heddle {

struct TextCommand {
  std::vector<std::string> texts; ///< empty: the lines of standard input
  int64_t batch = 1;              ///< texts that run together; the results do not depend on it
  bool truncate = false;          ///< cut texts that are longer than the model takes
};

/// `translate` and `generate`.
struct TranslateCommand {
  TextCommand text;
  std::optional<int64_t> limit; ///< tokens of an answer; default: the model's `target.limit`
  bool stream = false;          ///< write each token as soon as it is chosen
  std::string attention;        ///< file (.html or .svg) that gets pictures of the attention
  int64_t beam = 1;
  bool sample = false;
  /// Options of a search that were given; each needs its search (DecodingOptions).
  std::optional<double> lengthPenalty, temperature, topP;
  std::optional<int64_t> topK;
  std::optional<uint64_t> seed;
};

/// What to answer where something is asked for that is planned and not supported yet.
Error notSupportedYet(std::string_view what);

/// A usage error for a batch of nothing.
Status checkTexts(const TextCommand &command);
/// A usage error where an option would be ignored or contradicts another: to be asked before a model
/// is opened, and asked again by `translateCommand`.
Status checkTranslate(const TranslateCommand &command);

/// Translates every text, one line each, in order. Notes about cut texts go to `notes`.
Status translateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                        std::ostream &out, std::ostream &notes);

/// Writes what a decoder alone adds to every text, one line each, in order: at most as many tokens as
/// the model's `target.limit` leaves room for. `attention` must be empty.
Status generateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                       std::ostream &out, std::ostream &notes);

/// One line each text: with `classify` the likeliest class and its probability, "label\t0.987654",
/// otherwise the numbers of its vector with a space between them.
Status encodeCommand(Session &session, const TextCommand &command, bool classify, std::istream &in,
                     std::ostream &out, std::ostream &notes);

} // namespace heddle
