//===- SpeechTokens.cpp - Special tokens of speech models ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Generation/Speech.h"

#include "heddle/Support/SpeechLanguages.h"
#include "heddle/Support/Text.h"

#include <limits>

using namespace heddle;

/// If the folder does not name the token for "no timestamps", no token is a timestamp, as in
/// Transformers.
SpeechTokens::SpeechTokens(SpeechFacts given) : facts(std::move(given)) {
  rules.none = facts.noTimestamps;
  constexpr int32_t none = std::numeric_limits<int32_t>::max();
  rules.first = facts.namesTimestamps ? std::min(facts.noTimestamps, none - 1) + 1 : none;
  rules.end = facts.end;
  rules.latestStart = facts.latestStart;
}

SpeechChecks SpeechTokens::checks() const {
  SpeechChecks checks;
  checks.mostCompression = facts.mostCompression;
  checks.leastLogProbability = facts.leastLogProbability;
  checks.silence = facts.silence;
  return checks;
}

Status SpeechTokens::checkTimes() const {
  if (facts.namesTimestamps)
    return {};
  return inputError("no_timestamps_token_id: expected a token of the folder's settings where times "
                    "are told, as of all audio beyond one window, found none");
}

Expected<std::optional<int32_t>> SpeechTokens::language(std::string_view name) const {
  const std::string code = speechLanguageCode(name);
  if (facts.languages.empty() && code == "en")
    return std::optional<int32_t>();
  auto found = facts.languages.find(code);
  if (found != facts.languages.end())
    return std::optional(found->second);
  const std::string known =
      facts.languages.empty()
          ? "en, the only one"
          : "one of " + listText(facts.languages, [](const auto &l) { return l.first; });
  return usageError("--language: expected " + known + ", found " + quotedText(name));
}

std::optional<int32_t> SpeechTokens::likeliestLanguage(std::span<const float> scores) const {
  std::optional<int32_t> best;
  if (!facts.namesLanguages)
    return best;
  for (const auto &[code, token] : facts.languages) {
    if (static_cast<size_t>(token) >= scores.size())
      continue;
    const float score = scores[static_cast<size_t>(token)];
    const float most = best ? scores[static_cast<size_t>(*best)] : score;
    if (!best || score > most || (score == most && token < *best))
      best = token;
  }
  return best;
}

std::string SpeechTokens::codeOf(std::optional<int32_t> language) const {
  for (const auto &[code, token] : facts.languages)
    if (token == language)
      return code;
  return "en";
}

Expected<TokenIds> SpeechTokens::prompt(std::optional<int32_t> language, bool translates,
                                        bool timestamps) const {
  TokenIds tokens{facts.start};
  if (language)
    tokens.push_back(*language);
  const char *task = translates ? "translate" : "transcribe";
  const auto found = facts.tasks.find(task);
  if (translates && found == facts.tasks.end())
    return usageError("--task: expected transcribe, the only one, found translate");
  if (found != facts.tasks.end() && (facts.namesTasks || translates || language))
    tokens.push_back(found->second);
  if (!timestamps && (facts.namesTimestamps || facts.forcesNoTimestamps))
    tokens.push_back(rules.none);
  return tokens;
}

TokenIds SpeechTokens::behind(std::span<const int32_t> before, const TokenIds &prompt,
                              int64_t positions) const {
  const auto most = static_cast<size_t>(std::max<int64_t>(positions / 2 - 1, 0));
  TokenIds tokens;
  if (facts.previous && !before.empty())
    tokens.push_back(*facts.previous);
  const auto kept = before.last(std::min(before.size(), most));
  tokens.insert(tokens.end(), kept.begin(), kept.end());
  tokens.insert(tokens.end(), prompt.begin(), prompt.end());
  return tokens;
}

int64_t SpeechTokens::mostBehind(int64_t prompt, int64_t positions) const {
  // The last token is not read.
  int64_t most = positions - prompt + 1;
  if (facts.mostNew)
    most = std::min<int64_t>(most, *facts.mostNew);
  else if (facts.mostInAll)
    most = std::min(most, *facts.mostInAll - prompt);
  return std::max<int64_t>(most, 0);
}

int64_t SpeechTokens::leastBehind(int64_t prompt) const {
  return facts.leastNew ? *facts.leastNew
                        : std::max<int64_t>(facts.leastInAll.value_or(0) - prompt, 0);
}
