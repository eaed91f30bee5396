//===- Sampling.cpp - Random sampling of tokens -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C++ standard defines the numbers of mt19937_64 and seed_seq, so they are equal
// on every system. Each token seeds its own engine, so that a sequence does not depend
// on the rest of its batch.
#include "Search.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace heddle;

namespace {

/// Uniform random number in [0, 1) with 53 bits.
double drawUniform(uint64_t seed, uint64_t sequence, int64_t step) {
  auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  std::seed_seq words{low(seed), high(seed), low(sequence), high(sequence),
                      static_cast<uint32_t>(step)};
  std::mt19937_64 engine(words);
  return std::ldexp(static_cast<double>(engine() >> 11), -53);
}

/// The chosen candidate, with its log probability at temperature 1 among `kept`. The candidates'
/// own log probabilities are at `temperature`.
Candidate untempered(std::span<const Candidate> kept, size_t chosen, double temperature) {
  auto behind = [&](const Candidate &candidate) {
    return (candidate.logProbability - kept[0].logProbability) * temperature;
  };
  double sum = 0;
  for (const Candidate &candidate : kept)
    sum += std::exp(behind(candidate));
  return {behind(kept[chosen]) - std::log(sum), kept[chosen].token};
}

/// Keeps the tokens whose information, -log p, is nearest to the entropy, until their probabilities
/// sum to `mass`, and tokens at the same distance. As in Transformers, p is relative to `whole`, the
/// sum over the candidates.
double keepTypical(std::vector<Candidate> &candidates, double mass, double whole) {
  const double shift = std::log(whole);
  auto probability = [&](const Candidate &c) { return std::exp(c.logProbability - shift); };
  double entropy = 0;
  for (const Candidate &c : candidates)
    if (const double p = probability(c); p > 0)
      entropy -= p * (c.logProbability - shift);
  auto distance = [&](const Candidate &c) { return std::abs(shift - c.logProbability - entropy); };
  std::vector<Candidate> nearest = candidates;
  std::ranges::stable_sort(nearest, {}, distance);
  double sum = 0, furthest = 0;
  for (size_t i = 0; i < nearest.size() && sum < mass; ++i) {
    sum += probability(nearest[i]);
    furthest = distance(nearest[i]);
  }
  std::erase_if(candidates, [&](const Candidate &c) { return distance(c) > furthest; });
  double kept = 0;
  for (const Candidate &c : candidates)
    kept += std::exp(c.logProbability);
  return kept;
}

/// Applies the filters after `topK` to candidates in the order of their likelihood. Returns the sum
/// of the probabilities of the tokens that are left.
double filter(std::vector<Candidate> &candidates, const SearchSettings &settings) {
  double whole = 0;
  for (const Candidate &candidate : candidates)
    whole += std::exp(candidate.logProbability);
  double kept = 0;
  size_t count = 0;
  while (count < candidates.size() && (count == 0 || kept < settings.topP * whole))
    kept += std::exp(candidates[count++].logProbability);
  if (settings.minP > 0) {
    const double least = candidates[0].logProbability + std::log(settings.minP);
    while (count > 1 && candidates[count - 1].logProbability < least)
      kept -= std::exp(candidates[--count].logProbability);
  }
  candidates.resize(count);
  return settings.typicalP < 1 ? keepTypical(candidates, settings.typicalP, kept) : kept;
}

} // namespace

bool heddle::isOfSampling(std::string_view name) {
  constexpr std::string_view names[] = {"temperature", "top-k", "top-p", "min-p", "typical-p"};
  return std::ranges::count(names, name) > 0;
}

Status heddle::checkSampling(const SearchSettings &settings) {
  if (!std::isfinite(settings.temperature) || settings.temperature <= 0)
    return outsideRange("temperature", "a number above 0", settings.temperature);
  if (settings.topK < 0)
    return outsideRange("top-k", "at least 0", static_cast<double>(settings.topK));
  if (!(settings.topP >= 0 && settings.topP <= 1))
    return outsideRange("top-p", "a number from 0 to 1", settings.topP);
  if (!(settings.minP >= 0 && settings.minP <= 1))
    return outsideRange("min-p", "a number from 0 to 1", settings.minP);
  if (!(settings.typicalP > 0 && settings.typicalP <= 1))
    return outsideRange("typical-p", "a number above 0 and at most 1", settings.typicalP);
  return {};
}

Expected<Candidate> heddle::sampleToken(std::span<const float> scores, bool probabilities,
                                        const DecodingOptions &options, size_t sequence,
                                        int64_t step) {
  const size_t most = options.topK > 0 ? static_cast<size_t>(options.topK) : scores.size();
  auto candidates = HEDDLE_TRY(likeliest(scores, probabilities, most, options.temperature));
  const double kept = filter(candidates, options);
  const uint64_t number = options.numbers.empty() ? sequence : options.numbers[sequence];
  double rest = drawUniform(options.seed, number, step) * kept;
  size_t chosen = 0;
  for (; chosen + 1 < candidates.size(); ++chosen) {
    rest -= std::exp(candidates[chosen].logProbability);
    if (rest < 0)
      break;
  }
  return options.onProbability ? untempered(candidates, chosen, options.temperature)
                               : candidates[chosen];
}
