//===- ExpertsTest.cpp - Routers and mixtures of experts ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares routers with plain loops, on rows with equal logits, NaN and infinities, and the bits of
// a row alone with its bits among others, on both devices.

#include "LinearModel.h"
#include "heddle/ExecutionEngine/Jit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t experts = 36, rows = 70;
constexpr float infinity = std::numeric_limits<float>::infinity();
const float notANumber = std::numeric_limits<float>::quiet_NaN();

//===- Routers -----------------------------------------------------------===//

struct Rule {
  const char *name;
  int64_t count;
  bool isSigmoid, corrects, normalises;
  double scale;
  int64_t groups = 1, usedGroups = 1;
  double jitter = 0; ///< of a sparse mixer

  std::string attributes() const {
    return "{count = " + std::to_string(count) + " : i64, score = #transformer.router_score<" +
           (jitter != 0 ? "sparse_mixer"
            : isSigmoid ? "sigmoid"
                        : "softmax") +
           ">, jitter = " + std::to_string(jitter) + " : f32" + (normalises ? ", normalise" : "") +
           ", scale = " + std::to_string(scale) + " : f32, groups = " + std::to_string(groups) +
           " : i64, used_groups = " + std::to_string(usedGroups) + " : i64}";
  }
};

constexpr Rule rules[] = {{"one", 1, false, false, false, 1},
                          {"softmax", 5, false, false, false, 1},
                          {"normalised", 4, false, false, true, 1},
                          {"corrected", 3, false, true, true, 0.5},
                          {"sigmoid", 6, true, true, true, 2.5},
                          {"all", experts, true, false, false, 1},
                          {"groups", 6, true, true, true, 2.5, 4, 2},
                          {"singles", 3, true, false, true, 1, experts, 5},
                          {"mixer", 2, false, false, false, 1, 1, 1, 0.01},
                          {"wide_mixer", 5, false, false, false, 2, 1, 1, 0.4}};

class RouteTest : public testing::TestWithParam<std::tuple<const char *, Rule>> {};

std::string typeOf(const std::string &shape, const char *element) {
  return "tensor<" + shape + "x" + element + ">";
}

std::string functionOf(const Rule &rule) {
  const std::string logits = typeOf("?x" + std::to_string(experts), "f32"),
                    chosen = std::to_string(rule.count) + "x?",
                    correction = typeOf(std::to_string(experts), "f32");
  return "func.func @route(%l: " + logits + " {transformer.name = \"logits\"}, %c: " + correction +
         " {transformer.name = \"correction\"}) -> (" + typeOf(chosen, "i32") +
         " {transformer.name = \"experts\"}, " + typeOf(chosen, "f32") +
         " {transformer.name = \"weights\"}) {\n  %e, %w = transformer.route %l " +
         (rule.corrects ? "correction(%c : " + correction + ") " : "") + rule.attributes() + " : " +
         logits + " -> " + typeOf(chosen, "i32") + ", " + typeOf(chosen, "f32") +
         "\n  return %e, %w : " + typeOf(chosen, "i32") + ", " + typeOf(chosen, "f32") + "\n}\n";
}

/// Logits whose last rows have equal values, NaN and infinities.
Matrix logitsOf() {
  Matrix logits = numbers(rows, experts, 5);
  for (float &value : logits.values)
    value *= 4;
  logits.fill(rows - 1, {0.25F});
  logits.fill(rows - 2, {1, 1, 2, 0});
  logits.fill(rows - 3, {-1, infinity, 3});
  logits.fill(rows - 4, {-infinity, 1, 2, 3, 4, 5, 6});
  logits.fill(rows - 5, {notANumber, 2, 1});
  logits.fill(rows - 6, {notANumber});
  return logits;
}

std::vector<double> scoresOf(std::span<const float> logits, const Rule &rule) {
  std::vector<double> scores(logits.begin(), logits.end());
  if (rule.isSigmoid) {
    for (double &x : scores)
      x = 1 / (1 + std::exp(-x));
    return scores;
  }
  const double largest = *std::ranges::max_element(scores);
  for (double &x : scores)
    x = std::exp(x - largest);
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  for (double &x : scores)
    x /= sum;
  return scores;
}

/// The values that order experts, with minus infinity in groups that are not used.
std::vector<double> openOrder(std::vector<double> order, const Rule &rule) {
  for (double &x : order)
    x = std::isnan(x) ? -1e30 : x;
  const int64_t size = experts / rule.groups;
  std::vector<std::pair<double, int64_t>> groups; // negated scores, and first experts
  for (int64_t first = 0; first < experts; first += size) {
    std::vector<double> own(order.begin() + first, order.begin() + first + size);
    std::ranges::sort(own, std::greater<>());
    groups.emplace_back(-(own[0] + (size > 1 ? own[1] : 0)), first);
  }
  std::ranges::sort(groups);
  for (size_t g = static_cast<size_t>(rule.usedGroups); g < groups.size(); ++g)
    std::fill_n(order.begin() + groups[g].second, size, -INFINITY);
  return order;
}

/// The chosen experts, ascending.
std::vector<int32_t> chosen(std::vector<double> order, int64_t count) {
  for (double &x : order)
    x = std::isnan(x) ? -INFINITY : x;
  std::vector<int32_t> all(order.size());
  std::iota(all.begin(), all.end(), 0);
  std::ranges::stable_sort(all, [&](int32_t a, int32_t b) { return order[a] > order[b]; });
  all.resize(static_cast<size_t>(count));
  std::ranges::sort(all);
  return all;
}

/// The weights of a sparse mixer by expert: rounds as in Transformers, each of which chooses an expert.
std::vector<double> mixed(std::span<const float> logits, const Rule &rule) {
  std::vector<double> weights(experts), left(logits.begin(), logits.end());
  for (int64_t round = 0; round < rule.count; ++round) {
    std::vector<double> order = left;
    for (double &x : order)
      x = std::isnan(x) ? -1e30 : x;
    const auto best = static_cast<size_t>(std::ranges::max_element(order) - order.begin());
    double sum = 0;
    for (size_t e = 0; e < left.size(); ++e) {
      const double factor = std::max(std::abs<double>(logits[e]), left[best]);
      if (!((left[best] - logits[e]) / factor > 2 * rule.jitter))
        sum += std::exp(left[e] - left[best]);
    }
    weights[best] = 1 / sum;
    left[best] = -INFINITY;
  }
  return weights;
}

TEST_P(RouteTest, IsItsFormula) {
  const auto &[device, rule] = GetParam();
  TemporaryFolder folder;
  auto session = jit(folder.write("route.mlir", functionOf(rule)), {.device = device});
  if (!session && isMissingDevice(session.error()))
    GTEST_SKIP() << session.error().message;
  ASSERT_TRUE(session) << session.error().message;

  const Matrix logits = logitsOf(), correction = numbers(1, experts, 8);
  HEDDLE_ASSERT(found, call(*session, "route",
                            {{"logits", Tensor::f32({rows, experts}, logits.values)},
                             {"correction", Tensor::f32({experts}, correction.values)}}));
  std::span<const int32_t> numbersFound = found.at("experts").values<int32_t>();
  std::span<const float> weights = found.at("weights").values<float>();
  for (int64_t n = 0; n < rows; ++n) {
    const std::span<const float> row(logits.values.data() + n * experts, experts);
    const std::vector<double> scores = rule.jitter != 0 ? mixed(row, rule) : scoresOf(row, rule);
    std::vector<double> order =
        rule.isSigmoid || rule.corrects ? scores : std::vector<double>(row.begin(), row.end());
    for (int64_t e = 0; rule.corrects && e < experts; ++e)
      order[e] += correction.values[e];
    if (rule.groups > 1)
      order = openOrder(order, rule);
    const std::vector<int32_t> expected = chosen(order, rule.count);
    double divisor = 0;
    for (int32_t e : expected)
      divisor += scores[e];
    if (!rule.normalises)
      divisor = 1;
    for (int64_t j = 0; j < rule.count; ++j) {
      const int64_t at = j * rows + n;
      ASSERT_EQ(numbersFound[at], expected[j]) << "row " << n << ", expert " << j;
      const double weight = scores[expected[j]] / divisor * rule.scale;
      if (std::isnan(weight))
        ASSERT_TRUE(std::isnan(weights[at])) << "row " << n << ", expert " << j;
      else
        ASSERT_NEAR(weights[at], weight, 2e-6 * rule.scale) << "row " << n << ", expert " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Experts, RouteTest,
                         testing::Combine(testing::Values("cpu", "vulkan"),
                                          testing::ValuesIn(rules)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param).name;
                         });

//===- Rows --------------------------------------------------------------===//

class ExpertRowsTest : public testing::TestWithParam<std::tuple<const char *, const char *>> {};

/// A sequence of one row has the same bits alone, among many, and on two threads.
TEST_P(ExpertRowsTest, AreAlone) {
  constexpr int64_t count = 150, size = 48;
  const auto &[device, dtype] = GetParam();
  JitOptions options{.device = device};
  options.dtype = dtype;
  options.threads = 2;
  auto session = jit(HEDDLE_SOURCE_DIR "/test/data/models/experts.json", options);
  if (!session && isMissingDevice(session.error()))
    GTEST_SKIP() << session.error().message;
  ASSERT_TRUE(session) << session.error().message;
  options.threads = 1;
  HEDDLE_ASSERT(single, jit(HEDDLE_SOURCE_DIR "/test/data/models/experts.json", options));

  const Matrix x = numbers(count, size, 11);
  auto run = [&](Session &of, int64_t first, int64_t sequences) {
    std::vector<float> values(x.values.begin() + first * size,
                              x.values.begin() + (first + sequences) * size);
    return call(of, "encode", {{"source", Tensor::f32({sequences, 1, size}, values)}});
  };
  HEDDLE_ASSERT(all, run(*session, 0, count));
  std::span<const float> rowsFound = all.begin()->second.values<float>();
  for (const auto &[first, sequences] : {std::pair<int64_t, int64_t>{0, 1}, {149, 1}, {40, 9}}) {
    HEDDLE_ASSERT(few, run(single, first, sequences));
    std::span<const float> found = few.begin()->second.values<float>();
    EXPECT_TRUE(std::ranges::equal(found, rowsFound.subspan(static_cast<size_t>(first * size),
                                                            static_cast<size_t>(sequences * size))))
        << sequences << " rows from " << first;
  }
}

INSTANTIATE_TEST_SUITE_P(Experts, ExpertRowsTest,
                         testing::Combine(testing::Values("cpu", "vulkan"),
                                          testing::Values("f32", "bf16", "int8", "int4")),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param);
                         });

} // namespace
