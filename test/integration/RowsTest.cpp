//===- RowsTest.cpp - Pooling and normalisation of rows -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares every pooling, and the division by a row's length, with plain loops on both devices.
// Cases are texts of different lengths (including an empty one), packed documents, and more rows
// than are added in one round of sixteen.
#include "LinearModel.h"
#include "TemporaryFolder.h"
#include "heddle/ExecutionEngine/Jit.h"

#include <cmath>
#include <numeric>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t features = 37;

struct Pooling {
  const char *name;
  double (*formula)(std::span<const double> rows); ///< for one feature and at least one row
};

const Pooling poolings[] = {
    {"cls", [](std::span<const double> rows) { return rows.front(); }},
    {"last", [](std::span<const double> rows) { return rows.back(); }},
    {"max", [](std::span<const double> rows) { return *std::ranges::max_element(rows); }},
    {"mean",
     [](std::span<const double> rows) {
       return std::accumulate(rows.begin(), rows.end(), 0.0) / static_cast<double>(rows.size());
     }},
    {"weighted_mean",
     [](std::span<const double> rows) {
       double sum = 0, weights = 0;
       for (size_t i = 0; i < rows.size(); ++i) {
         sum += static_cast<double>(i + 1) * rows[i];
         weights += static_cast<double>(i + 1);
       }
       return sum / weights;
     }},
    {"mean_sqrt",
     [](std::span<const double> rows) {
       return std::accumulate(rows.begin(), rows.end(), 0.0) /
              std::sqrt(static_cast<double>(rows.size()));
     }},
};

Expected<Session> open(const std::string &text, const std::string &device) {
  TemporaryFolder folder;
  return jit(folder.write("rows.mlir", text), {.device = device});
}

/// Several poolings of one input.
class PoolTest : public testing::TestWithParam<std::tuple<std::string, std::vector<Pooling>>> {};

TEST_P(PoolTest, IsItsFormula) {
  const auto &[device, kinds] = GetParam();
  const auto count = static_cast<int64_t>(kinds.size());
  std::string in = "tensor<?x?x37xf32>",
              out = "tensor<?x" + std::to_string(count * features) + "xf32>", kind;
  for (const Pooling &pooling : kinds)
    kind += (kind.empty() ? "{kinds = [" : ", ") + std::string("#transformer.pooling<") +
            pooling.name + ">";
  kind += "]}";
  auto session =
      open("func.func @texts(%x: " + in +
               " {transformer.name = \"x\"}, %n: tensor<?xi32> "
               "{transformer.name = \"n\"}) -> (" +
               out +
               " {transformer.name = \"y\"}) {\n"
               "  %y = transformer.pool %x lengths(%n : tensor<?xi32>) " +
               kind + " : " + in + " -> " + out + "\n  return %y : " + out +
               "\n}\n"
               "func.func @documents(%x: tensor<1x?x37xf32> {transformer.name = \"x\"}, %n: "
               "tensor<?xi32> "
               "{transformer.name = \"n\"}) -> (" +
               out +
               " {transformer.name = \"y\"}) {\n"
               "  %y = transformer.pool %x documents(%n : tensor<?xi32>) " +
               kind + " : tensor<1x?x37xf32> -> " + out + "\n  return %y : " + out + "\n}\n",
           device);
  if (!session && isMissingDevice(session.error()))
    GTEST_SKIP() << session.error().message;
  ASSERT_TRUE(session) << session.error().message;

  const std::vector<int32_t> lengths = {53, 1, 0, 16, 33}, starts = {0, 53, 54, 54, 70, 103};
  const int64_t texts = 5, rows = 53;
  Matrix padded = numbers(texts * rows, features, 3), packed = numbers(starts.back(), features, 4);
  auto check = [&](const Expected<Tensors> &outputs, const Matrix &x, auto firstRow) {
    ASSERT_TRUE(outputs) << outputs.error().message;
    std::span<const float> found = outputs->at("y").values<float>();
    ASSERT_EQ(found.size(), static_cast<size_t>(texts * count * features));
    for (int64_t n = 0; n < texts; ++n)
      for (int64_t e = 0; e < features; ++e) {
        std::vector<double> column;
        for (int64_t row = 0; row < lengths[n]; ++row)
          column.push_back(x.values[(firstRow(n) + row) * features + e]);
        for (int64_t k = 0; k < count; ++k)
          ASSERT_NEAR(found[(n * count + k) * features + e],
                      column.empty() ? 0 : kinds[k].formula(column), 1e-6)
              << "text " << n << ", feature " << e << ", " << kinds[k].name;
      }
  };
  check(call(*session, "texts",
             {{"x", Tensor::f32({texts, rows, features}, padded.values)},
              {"n", Tensor::i32({texts}, lengths)}}),
        padded, [&](int64_t n) { return n * rows; });
  check(call(*session, "documents",
             {{"x", Tensor::f32({1, starts.back(), features}, packed.values)},
              {"n", Tensor::i32({texts + 1}, starts)}}),
        packed, [&](int64_t n) { return starts[n]; });
}

std::string nameOf(const testing::TestParamInfo<PoolTest::ParamType> &info) {
  std::string name = std::get<0>(info.param);
  for (const Pooling &pooling : std::get<1>(info.param))
    name += std::string("_") + pooling.name;
  return name;
}

/// Each pooling alone, and all together.
std::vector<std::vector<Pooling>> choices() {
  std::vector<std::vector<Pooling>> result(1, {std::begin(poolings), std::end(poolings)});
  for (const Pooling &pooling : poolings)
    result.push_back({pooling});
  return result;
}

INSTANTIATE_TEST_SUITE_P(Devices, PoolTest,
                         testing::Combine(testing::Values<std::string>("cpu", "vulkan"),
                                          testing::ValuesIn(choices())),
                         nameOf);

class NormalizeTest : public testing::TestWithParam<std::string> {};

TEST_P(NormalizeTest, RowsHaveTheLength1) {
  auto session = open("func.func @run(%x: tensor<?x37xf32> {transformer.name = \"x\"}) -> "
                      "(tensor<?x37xf32> {transformer.name = \"y\"}) {\n"
                      "  %y = transformer.normalize %x : tensor<?x37xf32>\n"
                      "  return %y : tensor<?x37xf32>\n}\n",
                      GetParam());
  if (!session && isMissingDevice(session.error()))
    GTEST_SKIP() << session.error().message;
  ASSERT_TRUE(session) << session.error().message;
  const int64_t rows = 9, zeros = 4;
  Matrix x = numbers(rows, features, 6);
  std::fill_n(x.values.begin() + zeros * features, features, 0.0f);
  auto outputs = call(*session, "run", {{"x", Tensor::f32({rows, features}, x.values)}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  std::span<const float> found = outputs->at("y").values<float>();
  for (int64_t row = 0; row < rows; ++row) {
    const float *in = x.values.data() + row * features, *out = found.data() + row * features;
    double length = std::sqrt(std::inner_product(in, in + features, in, 0.0));
    for (int64_t e = 0; e < features; ++e)
      ASSERT_NEAR(out[e], row == zeros ? 0 : in[e] / length, 1e-6) << "row " << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, NormalizeTest, testing::Values("cpu", "vulkan"),
                         [](const auto &info) { return info.param; });

} // namespace
