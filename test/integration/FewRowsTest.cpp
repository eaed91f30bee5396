//===- FewRowsTest.cpp - Kernels for few rows on Vulkan -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On Vulkan, a linear has a form for at most eight rows, which stages blocks of the weight. Each
// row must have the bits that it has among more rows, in every number format. Features end inside a
// block, a word and a group, or fill whole blocks.
#include "LinearModel.h"

#include <cstring>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t manyRows = 19, outputs = 37;

class FewRowsTest : public testing::TestWithParam<std::tuple<std::string, int64_t>> {};

TEST_P(FewRowsTest, HaveTheBitsOfMany) {
  const auto &[dtype, features] = GetParam();
  LinearModel model(manyRows, features, outputs);
  model.activation = "gelu";
  Expected<Artifact> artifact = model.compile(dtype, "vulkan", model.text());
  ASSERT_TRUE(artifact) << artifact.error().message;
  int64_t forms = 0;
  for (const Kernel &kernel : artifact->program().kernels)
    for (const VulkanVariant &variant : kernel.vulkan)
      forms += variant.level == 0 && variant.rows >= 0 && variant.mostRows == 8;
  EXPECT_EQ(forms, 1);
  // Devices that are processors use these forms only if a level is requested.
  auto session =
      Session::fromArtifact(std::move(*artifact), {.device = "vulkan", .vulkanLevel = 0});
  if (!session && isMissingDevice(session.error()))
    GTEST_SKIP() << session.error().message;
  ASSERT_TRUE(session) << session.error().message;
  auto bitsOf = [&](int64_t first, int64_t rows) -> std::vector<float> {
    auto from = model.input.values.begin() + first * features;
    std::vector<float> x(from, from + rows * features);
    auto result = call(*session, "run", {{"x", Tensor::f32({rows, features}, x)}});
    EXPECT_TRUE(result) << result.error().message;
    std::span<const float> y = result->at("y").values<float>();
    return std::vector<float>(y.begin(), y.end());
  };
  const std::vector<float> all = bitsOf(0, manyRows);
  for (auto [first, rows] : {std::pair(0, 1), {18, 1}, {3, 2}, {0, 8}, {10, 9}})
    EXPECT_EQ(std::memcmp(bitsOf(first, rows).data(), &all[first * outputs],
                          rows * outputs * sizeof(float)),
              0)
        << rows << " rows from " << first;
}

INSTANTIATE_TEST_SUITE_P(Formats, FewRowsTest,
                         testing::Combine(testing::Values<std::string>("f32", "bf16", "f16",
                                                                       "f16-sum", "int8", "int4"),
                                          testing::Values(1024, 1131)),
                         [](const auto &info) {
                           std::string name = std::get<0>(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + "_" + std::to_string(std::get<1>(info.param));
                         });

} // namespace
