//===- UnknownOption.h - Suggestions for unknown options --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Suggests an option for an unknown one: the equivalent of another tool's option, or else an option
// with that prefix, or else the nearest name.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/Text.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

namespace heddle::driver {

inline size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// An option of llama.cpp, Transformers, Sentence-Transformers, CTranslate2 or vLLM, spelled with
/// hyphens, and Heddle's equivalent option or argument.
struct PeerName {
  std::string_view theirs, ours;
};
inline constexpr PeerName peerNames[] = {
    {"-n", "--limit"},
    {"--max-tokens", "--limit"},
    {"--max-new-tokens", "--limit"},
    {"--max-length", "--limit"},
    {"--n-predict", "--limit"},
    {"--predict", "--limit"},
    {"--temp", "--temperature"},
    {"-m", "MODEL"},
    {"--model", "MODEL"},
    {"-p", "TEXT"},
    {"--prompt", "TEXT"},
    {"--text", "TEXT"},
    {"-t", "--threads"},
    {"--num-threads", "--threads"},
    {"-i", "--input"},
    {"-f", "--input"},
    {"--file", "--input"},
    {"--input-file", "--input"},
    {"--out", "--output"},
    {"--outfile", "--output"},
    {"--output-file", "--output"},
    {"-c", "--context"},
    {"--ctx-size", "--context"},
    {"--n-ctx", "--context"},
    {"--max-model-len", "--context"},
    {"-b", "--batch"},
    {"--batch-size", "--batch"},
    {"--max-batch-size", "--batch"},
    {"-s", "--seed"},
    {"--num-beams", "--beam"},
    {"--beam-size", "--beam"},
    {"--do-sample", "--sample"},
    {"--repeat-penalty", "--repetition-penalty"},
    {"--system-prompt", "--system"},
    {"--sys", "--system"},
    {"--normalize-embeddings", "--normalize"},
    {"--prompt-name", "--prompt"},
    {"--top-n", "--top"},
    {"--quantization", "--dtype"},
    {"--torch-dtype", "--dtype"},
    {"--compute-type", "--dtype"},
    {"--gpu-layers", "--device"},
    {"--n-gpu-layers", "--device"},
    {"-ngl", "--device"},
};

/// Returns whether a command has an option or argument called `name`.
inline bool hasName(const CLI::App &command, std::string_view name) {
  for (const CLI::Option *option : command.get_options()) {
    std::string argument = option->get_name(/*positional=*/true);
    std::ranges::transform(argument, argument.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (name.starts_with('-') ? option->check_name(std::string(name)) : argument == name)
      return true;
  }
  return false;
}

/// The shortest option of the command that begins with `given`, or else the option with the least
/// edit distance. Empty if none is near.
inline std::string nearestOption(const CLI::App &command, const std::string &given) {
  constexpr size_t leastPrefix = 4; // the dashes and two letters
  std::string begun, nearest;
  size_t distance =
      given.size() > 7 ? 3 : 2; // two edits from six letters on; the size has the dashes
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames()) {
      const std::string whole = "--" + name;
      if (given.size() >= leastPrefix && whole.starts_with(given) &&
          (begun.empty() || whole.size() < begun.size()))
        begun = whole;
      if (size_t edits = editDistance(given, whole); edits < distance) {
        distance = edits;
        nearest = whole;
      }
    }
  return begun.empty() ? nearest : begun;
}

/// Suggestion for the option `given`, after "; "; empty if there is none.
inline std::string adviceFor(const CLI::App &command, const std::string &given) {
  std::string hyphens = given;
  std::ranges::replace(hyphens, '_', '-');
  if (hyphens != given && hasName(command, hyphens))
    return "; it is " + hyphens + " here";
  for (auto [theirs, ours] : peerNames)
    if (hyphens == theirs && hasName(command, ours))
      return "; " + given + " is " +
             (ours.starts_with('-')
                  ? std::string(ours) + " here"
                  : "the argument " + std::string(ours) + " here, without a name");
  const std::string nearest = nearestOption(command, hyphens);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

/// Usage error for an option that the command lacks.
inline Error unknownOptionError(const CLI::App &command, const std::string &argument) {
  const std::string given = argument.substr(0, argument.find('='));
  std::string advice = adviceFor(command, given);
  if (advice.empty() && hasName(command, "TEXT") && !given.starts_with("--"))
    advice = "; a text that begins so stands after --";
  return usageError("expected an option of " + command.get_name() + ", found " +
                    quotedText(argument) + advice);
}

} // namespace heddle::driver
