//===- PlanRowsTest.cpp - Plans of products on Vulkan devices give equal bits ===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks, blocks ahead, buffers and the widest tiles change the order of loads, never the order of
// a sum. Compiles a layer with plans of its own and compares its results, bit by bit, with those of
// the plans that Heddle chooses. Features end inside a block, and rows inside a tile.
#include "LinearModel.h"
#include "ScopedVariable.h"

using namespace heddle;
using namespace heddle::test;

namespace {

/// A level, a number format, and plans (HEDDLE_PLAN_ROWS).
struct Plans {
  int level;
  std::string dtype, rows;
};

class PlanRowsTest : public testing::TestWithParam<Plans> {
protected:
  /// Compiles the model with `plans`. Returns no session if the device lacks the level.
  static std::optional<Session> open(const LinearModel &model, const std::string &plans) {
    const ScopedVariable variable("HEDDLE_PLAN_ROWS", plans);
    auto artifact = model.compile(GetParam().dtype, "vulkan", model.text());
    EXPECT_TRUE(artifact) << artifact.error().message;
    if (!artifact)
      return {};
    auto session = Session::fromArtifact(std::move(*artifact),
                                         {.device = "vulkan", .vulkanLevel = GetParam().level});
    if (session)
      return std::move(*session);
    EXPECT_TRUE(isMissingLevel(session.error())) << session.error().message;
    return {};
  }

  // Drivers for the processor emulate packed dot products; this limit enables them for the test.
  ScopedVariable limits{"HEDDLE_VULKAN_LIMITS", "dots=1"};
};

TEST_P(PlanRowsTest, BitsDoNotDependOnThePlan) {
  constexpr int64_t rows = 150, features = 333, outputs = 2304; // more columns than a narrow layer
  LinearModel model(rows, features, outputs);
  std::optional<Session> usual = open(model, ""), other = open(model, GetParam().rows);
  if (!usual || !other)
    GTEST_SKIP() << "no Vulkan device of level " << GetParam().level;
  for (int64_t some : {rows, int64_t{5}, int64_t{1}}) {
    auto from = model.input.values.begin();
    const std::vector<float> x(from, from + some * features);
    const Tensors inputs = {{"x", Tensor::f32({some, features}, x)}};
    HEDDLE_ASSERT(first, call(*usual, "run", inputs));
    HEDDLE_ASSERT(second, call(*other, "run", inputs));
    EXPECT_TRUE(sameBits(first, second)) << some << " rows";
  }
}

std::vector<Plans> allPlans() {
  std::vector<Plans> all;
  for (std::string dtype : {"f32", "bf16", "f16", "int8", "int4"})
    for (const char *numbers : {"8,1,2", "8,2,2", "16,3"})
      all.push_back({1, dtype, std::string("staged=") + numbers + ";few_rows=" + numbers});
  for (std::string dtype : {"bf16", "f16", "int8", "int4"})
    for (const char *numbers : {"8,1,2", "8,2,2", "16,2"}) {
      if (dtype == "int4" && numbers[0] == '8')
        continue; // scales of two groups, of 8 words each, are copied together
      all.push_back({2, dtype,
                     std::string("matrix/widest=") + numbers + ";matrix/wide=" + numbers +
                         ";matrix_few_rows=" + numbers});
    }
  return all;
}

std::string nameOf(const testing::TestParamInfo<Plans> &info) {
  std::string name = "level" + std::to_string(info.param.level) + "_" + info.param.dtype + "_" +
                     info.param.rows.substr(info.param.rows.rfind('=') + 1);
  std::replace(name.begin(), name.end(), ',', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Rows, PlanRowsTest, testing::ValuesIn(allPlans()), nameOf);

} // namespace
