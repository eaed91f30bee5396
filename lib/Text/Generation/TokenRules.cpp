//===- TokenRules.cpp - Changes to scores before a choice ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules and their order follow the logits processors of Transformers.
#include "TokenRules.h"

#include "Search.h"

#include <algorithm>
#include <limits>

using namespace heddle;

TokenRules::TokenRules(const DecodingOptions &options, bool probabilities)
    : options(options), never(probabilities ? 0 : -std::numeric_limits<float>::infinity()),
      isPlain(options.repetitionPenalty == 1 && options.suppressed.empty() &&
              options.suppressedFirst.empty() && options.badWords.empty() && !options.first &&
              !options.last && options.least == 0 && options.leastInAll == 0 &&
              options.noRepeat == 0 && !options.timestamps) {}

/// True if the first token is forced: as in Transformers, only after a prompt of at most one token.
bool TokenRules::forcesFirst(size_t sequence) const {
  return options.first && before(sequence).size() <= 1;
}

std::optional<int32_t> TokenRules::forced(size_t sequence, std::span<const int32_t> said) const {
  if (said.empty() && forcesFirst(sequence))
    return options.first;
  return std::ssize(said) + 1 == limitOf(options, sequence) ? options.last : std::nullopt;
}

std::span<const int32_t> TokenRules::before(size_t sequence) const {
  return options.before.empty() ? std::span<const int32_t>() : options.before[sequence];
}

void TokenRules::forbid(std::span<const int32_t> forbidden) {
  for (int32_t token : forbidden)
    if (token >= 0 && static_cast<size_t>(token) < changed.size())
      changed[static_cast<size_t>(token)] = never;
}

void TokenRules::penalize(size_t sequence, std::span<const int32_t> said) {
  tokens.assign(said.begin(), said.end());
  tokens.insert(tokens.end(), before(sequence).begin(), before(sequence).end());
  std::ranges::sort(tokens);
  const auto rest = std::ranges::unique(tokens);
  tokens.erase(rest.begin(), rest.end());
  const auto penalty = static_cast<float>(options.repetitionPenalty);
  for (int32_t token : tokens)
    if (token >= 0 && static_cast<size_t>(token) < changed.size()) {
      float &score = changed[static_cast<size_t>(token)];
      score = score < 0 ? score * penalty : score / penalty;
    }
}

/// Forbids each token that has already followed the last n - 1 tokens.
void TokenRules::forbidRepeats(size_t sequence, std::span<const int32_t> said) {
  tokens.assign(before(sequence).begin(), before(sequence).end());
  tokens.insert(tokens.end(), said.begin(), said.end());
  const auto known = static_cast<size_t>(options.noRepeat) - 1;
  if (tokens.size() < known)
    return;
  const auto last = std::span<const int32_t>(tokens).last(known);
  for (size_t i = 0; i + known < tokens.size(); ++i)
    if (std::ranges::equal(std::span<const int32_t>(tokens).subspan(i, known), last))
      forbid(std::span<const int32_t>(tokens).subspan(i + known, 1));
}

/// Forbids the last token of each word whose other tokens were written last.
void TokenRules::forbidWords(size_t sequence, std::span<const int32_t> said) {
  tokens.assign(before(sequence).begin(), before(sequence).end());
  tokens.insert(tokens.end(), said.begin(), said.end());
  const std::span<const int32_t> all = tokens;
  for (const std::vector<int32_t> &word : options.badWords) {
    // Transformers requires as many tokens as the word has.
    const bool isLonger = word.size() > 1 && word.size() > all.size();
    if (word.empty() || isLonger)
      continue;
    const auto begin = std::span(word).first(word.size() - 1);
    if (std::ranges::equal(begin, all.last(begin.size())))
      forbid(std::span(word).last(1));
  }
}

std::span<const float> TokenRules::apply(std::span<const float> scores, size_t sequence,
                                         std::span<const int32_t> said) {
  if (isPlain)
    return scores;
  changed.assign(scores.begin(), scores.end());
  if (std::optional<int32_t> token = forced(sequence, said);
      token && static_cast<size_t>(*token) < changed.size()) {
    std::ranges::fill(changed, never);
    changed[static_cast<size_t>(*token)] = 1;
    return changed;
  }
  if (options.repetitionPenalty != 1)
    penalize(sequence, said);
  if (options.noRepeat > 0)
    forbidRepeats(sequence, said);
  const int64_t inAll = std::ssize(before(sequence)) + std::ssize(said);
  if (std::ssize(said) < options.least || inAll < options.leastInAll)
    forbid(options.ends);
  forbid(options.suppressed);
  if (!options.badWords.empty())
    forbidWords(sequence, said);
  if (said.size() == (forcesFirst(sequence) ? 1 : 0))
    forbid(options.suppressedFirst);
  if (options.timestamps)
    options.timestamps->apply(changed, never == 0, said);
  // If no token is left, a sequence goes on as it would without rules.
  const bool isStuck = std::ranges::none_of(changed, [&](float score) { return score > never; });
  return isStuck ? scores : std::span<const float>(changed);
}
