//===- RowScores.cpp - Argmax and top-k of a row of scores -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens are ranked by their scores; probabilities are computed only for the tokens
// of the result. Compiled with -ffp-contract=off, so that all clones give equal bits.

#include "RowScores.h"

#include "heddle/Support/PowersOfTwo.h"
#include "heddle/Support/WideClones.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

using namespace heddle;

namespace {

constexpr size_t lanes = 16, blockSize = 4 * lanes;
constexpr float never = -std::numeric_limits<float>::infinity();

using Floats = float __attribute__((vector_size(lanes * 4)));
using Words = int32_t __attribute__((vector_size(lanes * 4)));

Error noNumbers() {
  return inputError("decode_step: expected a number among the scores of a token, found only NaN");
}

/// Largest score, ignoring NaN; minus infinity if there is no number.
HEDDLE_WIDE_CLONES
float largestOf(const float *scores, size_t count) {
  Floats best = Floats{} + never;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Floats x;
    std::memcpy(&x, scores + i, sizeof x);
    best = x > best ? x : best;
  }
  float largest = never;
  for (size_t lane = 0; lane < lanes; ++lane)
    largest = std::max(largest, best[lane]);
  for (; i < count; ++i)
    largest = scores[i] > largest ? scores[i] : largest;
  return largest;
}

/// Start of the first block from `start` (a multiple of blockSize) with a score above `limit` or,
/// with orEqual, of at least `limit`. The last, partial block always qualifies. Returns `count` if
/// there is none.
HEDDLE_WIDE_CLONES
size_t blockAbove(const float *scores, size_t start, size_t count, float limit, bool orEqual) {
  for (; start + blockSize <= count; start += blockSize) {
    Words any = {};
    for (size_t part = 0; part < blockSize; part += lanes) {
      Floats x;
      std::memcpy(&x, scores + start + part, sizeof x);
      any |= orEqual ? x >= limit : x > limit;
    }
    int32_t found = 0;
    for (size_t lane = 0; lane < lanes; ++lane)
      found |= any[lane];
    if (found)
      return start;
  }
  return start < count ? start : count;
}

/// Sum of 2^((x - largest) * factor) with factor > 0; NaN counts as minus infinity. Powers are f32,
/// the sixteen partial sums are f64.
HEDDLE_WIDE_CLONES
double sumOfPowers(const float *scores, size_t count, float largest, float factor) {
  double sums[lanes] = {};
  for (size_t i = 0; i < count; i += lanes) {
    Floats x = Floats{} + never;
    std::memcpy(&x, scores + i, std::min(lanes, count - i) * sizeof(float));
    x = (x - largest) * factor;
    x = x > -126.0f ? x : Floats{} - 127.0f; // NaN too
    // Adding and subtracting 1.5 * 2^23 rounds to an integer.
    const Floats whole = (x + 12582912.0f) - 12582912.0f, f = x - whole;
    Floats p = {};
    for (float coefficient : exp2Fine)
      p = p * f + coefficient;
    const Words exponent = (__builtin_convertvector(whole, Words) + 127) << 23; // 0 for -127
    Floats power;
    std::memcpy(&power, &exponent, sizeof power);
    power *= p;
    for (size_t lane = 0; lane < lanes; ++lane)
      sums[lane] += static_cast<double>(power[lane]);
  }
  double sum = 0;
  for (double part : sums)
    sum += part;
  return sum;
}

/// Indices of the `count` largest scores above minus infinity, larger scores first and the lower
/// index among equals.
std::vector<int32_t> largestPlaces(std::span<const float> scores, size_t count) {
  auto before = [&](int32_t a, int32_t b) {
    const float x = scores[a], y = scores[b];
    return x != y ? x > y : a < b;
  };
  std::vector<int32_t> places;
  float limit = never;
  // A list of up to 2 * count indices is cut to `count` by nth_element; from then on, its smallest
  // score is the limit. A later equal score has a higher index, so it may be skipped.
  auto cut = [&] {
    if (places.size() <= count)
      return;
    std::nth_element(places.begin(), places.begin() + static_cast<ptrdiff_t>(count) - 1,
                     places.end(), before);
    places.resize(count);
    limit = scores[places.back()];
  };
  for (size_t start = 0; count > 0 && start < scores.size(); start += blockSize) {
    start = blockAbove(scores.data(), start, scores.size(), limit, /*orEqual=*/false);
    const size_t end = std::min(start + blockSize, scores.size());
    for (size_t i = start; i < end; ++i)
      if (scores[i] > limit)
        places.push_back(static_cast<int32_t>(i));
    if (places.size() >= 2 * count)
      cut();
  }
  cut();
  std::ranges::sort(places, before);
  return places;
}

/// Sum of all probabilities of a row, in units of the largest one.
double sumOf(std::span<const float> scores, bool probabilities, float largest, double temperature) {
  if (std::isinf(largest)) // finite scores have probability 0
    return static_cast<double>(std::count(scores.begin(), scores.end(), largest));
  if (!probabilities) { // finite factor, since 0 times infinity is NaN
    const double factor = std::min(std::numbers::log2e / temperature, 1e38);
    return sumOfPowers(scores.data(), scores.size(), largest, static_cast<float>(factor));
  }
  double sum = 0;
  for (float score : scores)
    if (score > 0)
      sum += std::pow(static_cast<double>(score) / largest, 1 / temperature);
  return sum;
}

/// Log probability of a score, relative to the largest one.
double logBehind(double score, float largest, bool probabilities) {
  if (score == largest)
    return 0;
  if (probabilities)
    return std::log(score / largest);
  // Infinities are not subtracted from each other, which would be NaN.
  return std::isinf(largest) && !std::isnan(score) ? static_cast<double>(never)
                                                   : score - static_cast<double>(largest);
}

} // namespace

Expected<int32_t> heddle::argmax(std::span<const float> scores) {
  const float largest = largestOf(scores.data(), scores.size());
  for (size_t start = 0; start < scores.size(); start += blockSize) {
    start = blockAbove(scores.data(), start, scores.size(), largest, /*orEqual=*/true);
    const size_t end = std::min(start + blockSize, scores.size());
    for (size_t i = start; i < end; ++i)
      if (scores[i] == largest)
        return static_cast<int32_t>(i);
  }
  return noNumbers();
}

double heddle::logProbability(std::span<const float> scores, bool probabilities, int32_t token) {
  const float largest = largestOf(scores.data(), scores.size());
  if (probabilities ? !(largest > 0) : largest == never)
    return std::numeric_limits<double>::quiet_NaN();
  return logBehind(scores[static_cast<size_t>(token)], largest, probabilities) -
         std::log(sumOf(scores, probabilities, largest, /*temperature=*/1));
}

double heddle::logSum(std::span<const float> scores, bool probabilities) {
  const float largest = largestOf(scores.data(), scores.size());
  const double behind = std::log(sumOf(scores, probabilities, largest, /*temperature=*/1));
  return behind + (probabilities ? std::log(static_cast<double>(largest)) : largest);
}

Expected<std::vector<Candidate>> heddle::likeliest(std::span<const float> scores,
                                                   bool probabilities, size_t count,
                                                   double temperature,
                                                   std::span<const float> among) {
  float largest = largestOf(among.data(), among.size());
  if (among.empty() || std::isinf(largest)) { // all others have probability 0
    among = scores;
    largest = largestOf(scores.data(), scores.size());
  }
  if (probabilities ? !(largest > 0) : largest == never)
    return noNumbers();
  const double whole = std::log(sumOf(among, probabilities, largest, temperature));
  std::vector<Candidate> candidates;
  for (int32_t place : largestPlaces(scores, count)) {
    const double score = scores[place];
    if (probabilities && score <= 0)
      break;
    const double behind = logBehind(score, largest, probabilities);
    if (behind == never)
      break;
    candidates.push_back({behind / temperature - whole, place});
  }
  if (candidates.empty() && count > 0) // no token is left
    return noNumbers();
  return candidates;
}
