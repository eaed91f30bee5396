//===- DecodingChoice.cpp - Options of commands that write text ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DecodingChoice.h"

#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <ostream>

using namespace heddle;

/// The first flag of sampling that is given; empty: none.
static std::string samplingFlag(const WritingOptions &writing) {
  for (auto [given, flag] : {std::pair(writing.temperature.has_value(), "--temperature"),
                             {writing.topK.has_value(), "--top-k"},
                             {writing.topP.has_value(), "--top-p"},
                             {writing.minP.has_value(), "--min-p"},
                             {writing.seed.has_value(), "--seed"}})
    if (given)
      return flag;
  return {};
}

/// True if a flag says how tokens are drawn, which implies sampling.
static bool asksToDraw(const WritingOptions &writing) {
  return writing.temperature || writing.topK || writing.topP || writing.minP;
}

Status heddle::checkWriting(const WritingOptions &writing) {
  for (const std::string &stop : writing.stops) {
    if (stop.empty())
      return usageError("--stop: expected a text, found an empty one");
    HEDDLE_TRY(tokenizers::checkUtf8(stop, "--stop"));
  }
  const int64_t beam = writing.beam.value_or(1);
  if (!writing.stops.empty() && beam > 1)
    return usageError("--stop: expected --beam=1, found " + std::to_string(beam));
  if (const std::string flag = samplingFlag(writing);
      !flag.empty() && (writing.sample == false || (beam > 1 && !writing.sample)))
    return usageError(flag + ": expected --sample with it, found " +
                      (beam > 1 ? "a beam" : "--greedy"));
  return {};
}

/// True if the options need a single hypothesis.
static bool needsOne(const WritingOptions &writing, bool streams) {
  return streams || !writing.stops.empty() || writing.sample.has_value() ||
         !samplingFlag(writing).empty();
}

static Expected<int64_t> chosenLimit(const WritingOptions &writing, const TextSide &target,
                                     int64_t usual) {
  const int64_t limit = writing.limit.value_or(usual);
  if (limit < 1 || limit > target.limit)
    return usageError("--limit: expected 1 to " + std::to_string(target.limit) +
                      ", the tokens that the model's caches hold, found " + std::to_string(limit));
  return limit;
}

/// True if a flag, or the need for a single hypothesis, overrides the model's setting `name`.
static bool isChosen(const WritingOptions &writing, bool beamIsChosen, std::string_view name) {
  const std::pair<std::string_view, bool> choices[] = {
      {"sample", writing.sample.has_value() || asksToDraw(writing) || writing.beam.value_or(1) > 1},
      {"beams", beamIsChosen},
      {"length-penalty", writing.lengthPenalty.has_value()},
      {"limit", writing.limit.has_value()},
      {"repetition-penalty", writing.repetitionPenalty.has_value()},
      {"temperature", writing.temperature.has_value()},
      {"top-k", writing.topK.has_value()},
      {"top-p", writing.topP.has_value()},
      {"min-p", writing.minP.has_value()},
  };
  return std::ranges::any_of(
      choices, [&](const auto &choice) { return choice.first == name && choice.second; });
}

Expected<DecodingOptions> heddle::decodingOf(const WritingOptions &writing,
                                             const TextDecoder &decoder, const TextSide &target,
                                             bool streams) {
  DecodingOptions options = decoder.defaults();
  options.limit = HEDDLE_TRY(chosenLimit(writing, target, options.limit));
  if (writing.limit)
    options.limitInAll = 0;
  options.sample = writing.sample.value_or(asksToDraw(writing) ||
                                           (options.sample && writing.beam.value_or(1) == 1));
  const bool isOne = needsOne(writing, streams) || options.sample;
  options.beams = writing.beam.value_or(isOne ? 1 : options.beams);
  options.lengthPenalty = writing.lengthPenalty.value_or(options.lengthPenalty);
  options.temperature = writing.temperature.value_or(options.temperature);
  options.topK = writing.topK.value_or(options.topK);
  options.topP = writing.topP.value_or(options.topP);
  options.minP = writing.minP.value_or(options.minP);
  options.seed = writing.seed.value_or(options.seed);
  options.repetitionPenalty = writing.repetitionPenalty.value_or(options.repetitionPenalty);
  std::erase_if(options.refused, [&](const RefusedSetting &setting) {
    return isChosen(writing, isOne || writing.beam, setting.option);
  });
  HEDDLE_TRY(checkRefused(options));
  if (writing.ignoreEnd)
    options.ends.clear();
  if (writing.lengthPenalty && options.beams == 1)
    return usageError("--length-penalty: expected --beam=2 or more with it, found a beam of 1");
  if (Status checked = checkDecoding(options); !checked)
    return usageError("--" + checked.error().message);
  if (const std::string flag = samplingFlag(writing); !flag.empty() && !options.sample)
    return usageError(flag + ": expected --sample with it, found none");
  return options;
}

void Rate::write(std::ostream &notes) const {
  if (tokens == 0)
    return;
  notes << tokens << (tokens == 1 ? " token in " : " tokens in ") << formatted("%.2f", time.count())
        << " s, " << formatted("%.1f", static_cast<double>(tokens) / time.count()) << " a second\n";
}
