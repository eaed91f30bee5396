//===- RowScoresTest.cpp - The likeliest of a row against plain loops -----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../../../../lib/Text/Generation/RowScores.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace heddle;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(),
                nan = std::numeric_limits<float>::quiet_NaN();

/// Log probabilities of all tokens, computed in f64 one by one.
std::vector<Candidate> expectedOf(const std::vector<float> &scores, bool probabilities,
                                  double temperature) {
  std::vector<Candidate> all;
  double sum = 0, largest = -infinity;
  for (float score : scores)
    if (double x = probabilities ? std::log(static_cast<double>(score)) : score; x > largest)
      largest = x;
  for (size_t i = 0; i < scores.size(); ++i) {
    double x = probabilities ? std::log(static_cast<double>(scores[i])) : scores[i];
    if (std::isnan(x) || x == -infinity)
      continue;
    x = x == largest ? 0 : (x - largest) / temperature;
    sum += std::exp(x);
    if (x != -infinity)
      all.push_back({x, static_cast<int32_t>(i)});
  }
  for (Candidate &candidate : all)
    candidate.logProbability -= std::log(sum);
  // Sort by the scores themselves, because a temperature may make different scores equal.
  std::stable_sort(all.begin(), all.end(), [&](const Candidate &a, const Candidate &b) {
    return scores[static_cast<size_t>(a.token)] > scores[static_cast<size_t>(b.token)];
  });
  return all;
}

void expectSame(const std::vector<float> &scores, bool probabilities, size_t count,
                double temperature) {
  auto found = likeliest(scores, probabilities, count, temperature);
  ASSERT_TRUE(static_cast<bool>(found));
  std::vector<Candidate> expected = expectedOf(scores, probabilities, temperature);
  expected.resize(std::min(count, expected.size()));
  ASSERT_EQ(found->size(), expected.size()) << scores.size() << " scores, " << count;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((*found)[i].token, expected[i].token) << "rank " << i << " of " << scores.size();
    EXPECT_NEAR((*found)[i].logProbability, expected[i].logProbability,
                2e-6 * (1 + std::abs(expected[i].logProbability)))
        << "rank " << i << " of " << scores.size();
  }
}

TEST(RowScores, AgreeWithPlainLoops) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 4);
  for (size_t size : {1, 15, 16, 17, 63, 64, 65, 200, 1000, 32001}) {
    std::vector<float> scores(size);
    for (float &score : scores) // coarse, so that many are equal
      score = std::round(normal(random) * 8) / 8;
    for (size_t count : {size_t{1}, size_t{2}, size_t{8}, size_t{40}, size}) {
      expectSame(scores, false, count, 1);
      expectSame(scores, false, count, 0.7);
    }
    std::vector<float> probabilities(size);
    for (size_t i = 0; i < size; ++i)
      probabilities[i] = std::exp(scores[i]);
    expectSame(probabilities, true, 5, 1);
    expectSame(probabilities, true, 5, 2);
    auto best = argmax(scores);
    ASSERT_TRUE(static_cast<bool>(best));
    EXPECT_EQ(*best, std::max_element(scores.begin(), scores.end()) - scores.begin());
  }
}

TEST(RowScores, WhatIsNoNumberIsLeftOut) {
  std::vector<float> scores(100, nan);
  EXPECT_FALSE(static_cast<bool>(argmax(scores)));
  EXPECT_FALSE(static_cast<bool>(likeliest(scores, false, 3)));
  EXPECT_FALSE(static_cast<bool>(argmax({})));
  scores[70] = -infinity;
  EXPECT_EQ(*argmax(scores), 70);
  EXPECT_FALSE(static_cast<bool>(likeliest(scores, false, 3)));
  scores[71] = 2, scores[99] = 3;
  EXPECT_EQ(*argmax(scores), 99);
  expectSame(scores, false, 100, 1);
  scores[5] = infinity, scores[98] = infinity;
  expectSame(scores, false, 100, 1);
  EXPECT_EQ(*argmax(scores), 5);
}

TEST(RowScores, OneTokenHasTheLogProbabilityThatTheLikeliestHave) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> scores(1000);
  std::ranges::generate(scores, [&] { return normal(random); });
  scores[7] = nan, scores[8] = -infinity;
  std::vector<float> probabilities(scores.size());
  std::ranges::transform(scores, probabilities.begin(), [](float x) { return std::exp(x); });
  for (bool given : {false, true}) {
    const std::vector<float> &row = given ? probabilities : scores;
    auto all = likeliest(row, given, row.size());
    ASSERT_TRUE(static_cast<bool>(all));
    for (const Candidate &candidate : *all)
      EXPECT_EQ(logProbability(row, given, candidate.token), candidate.logProbability);
    EXPECT_TRUE(std::isnan(logProbability(row, given, 7)));
    EXPECT_EQ(logProbability(row, given, 8), -infinity);
  }
  scores[9] = infinity;
  EXPECT_EQ(logProbability(scores, false, 9), 0);
  EXPECT_EQ(logProbability(scores, false, 10), -infinity);
  EXPECT_TRUE(std::isnan(logProbability(std::vector<float>{-infinity, nan}, false, 0)));
  EXPECT_TRUE(std::isnan(logProbability(std::vector<float>{0, 0}, true, 0)));
}

TEST(RowScores, ZeroProbabilitiesAreLeftOut) {
  expectSame({0, 0.25f, 0, 0.75f, nan, -1}, true, 6, 1);
  EXPECT_FALSE(static_cast<bool>(likeliest(std::vector<float>{0, 0}, true, 1)));
}

TEST(RowScores, ExtremeTemperaturesKeepTheOrder) {
  std::vector<float> scores = {-3, 7, 7.5f, 1};
  EXPECT_EQ((*likeliest(scores, false, 1, 1e30))[0].token, 2);
  auto cold = likeliest(scores, false, 4, 1e-300);
  ASSERT_TRUE(static_cast<bool>(cold));
  EXPECT_EQ((*cold)[0].token, 2);
  EXPECT_NEAR((*cold)[0].logProbability, 0, 1e-6);
}

} // namespace
