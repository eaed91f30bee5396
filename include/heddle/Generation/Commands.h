//===- Commands.h - The text commands --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands shared by `heddle` and `heddle-run`. The tools parse the command line and
// print errors; everything else is decided here. A text without tokens gives an empty
// line.
#pragma once

#include "heddle/Runtime/Session.h"

#include <iosfwd>
#include <optional>

namespace heddle {

struct TextCommand {
  std::vector<std::string> texts; ///< empty: the lines of standard input
  int64_t batch = 1;              ///< texts of a batch; results do not depend on it
  bool truncate = false;          ///< cut texts that are too long for the model
};

/// `translate` and `generate`.
struct TranslateCommand {
  TextCommand text;
  std::optional<int64_t> limit; ///< tokens of an answer; default: the model's `target.limit`
  bool stream = false;          ///< write each token as soon as it is chosen
  std::string attention;        ///< file (.html or .svg) for pictures of attention weights
  int64_t beam = 1;
  bool sample = false;
  /// Options of beam search and of sampling (see DecodingOptions); an error without that search.
  std::optional<double> lengthPenalty, temperature, topP;
  std::optional<int64_t> topK;
  std::optional<uint64_t> seed;
};

/// `tokenize`.
struct TokenizeCommand {
  std::string model;               ///< a folder, or a tokenizer's file
  std::vector<std::string> texts;  ///< empty: the lines of standard input
  std::optional<std::string> pair; ///< the second text of each
  bool noSpecial = false;          ///< without the tokens that the template adds
  bool decode = false;             ///< ids to text
};

/// Usage error "`what`: not supported yet".
Error notSupportedYet(std::string_view what);

/// Usage error for a batch below 1.
Status checkTexts(const TextCommand &command);
/// Usage error for options that would have no effect or contradict each other. Tools call it before
/// they open a model; `translateCommand` calls it again.
Status checkTranslate(const TranslateCommand &command);

/// Translates every text in order, a line each. A note about cut texts goes to `notes`.
Status translateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                        std::ostream &out, std::ostream &notes);

/// Continues every text with a decoder-only model, in order, a line each: at most as many tokens as
/// the model's `target.limit` leaves room for. `attention` must be empty.
Status generateCommand(Session &session, const TranslateCommand &command, std::istream &in,
                       std::ostream &out, std::ostream &notes);

/// Writes a line for each text: its ids, or with `decode` the text of its ids. An empty line gives
/// an empty one.
Status tokenizeCommand(const TokenizeCommand &command, std::istream &in, std::ostream &out);

/// Writes a line for each text: with `classify` the likeliest class and its probability,
/// "label\t0.987654", otherwise the numbers of its embedding, separated by spaces.
Status encodeCommand(Session &session, const TextCommand &command, bool classify, std::istream &in,
                     std::ostream &out, std::ostream &notes);

} // namespace heddle
