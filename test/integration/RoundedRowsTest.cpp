//===- RoundedRowsTest.cpp - Rows that are rounded once -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// At level 2, the first launch that reads rows of f16 rounds them, and later launches share the
// result. Each row has the bits that it has alone, where the product rounds it itself. So do
// launches whose arguments do not fit in one window, which read copies of the rounded rows.
#include "TwoLevels.h"

#include <cstring>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t rows = 150, features = 64;

/// Two products read x, and one reads a. Those of b and c have the same kernel.
constexpr const char *code = R"(
func.func @run(%x: tensor<?x64xf32> {transformer.name = "x"})
    -> (tensor<?x64xf32> {transformer.name = "a"}, tensor<?x64xf32> {transformer.name = "b"},
        tensor<?x64xf32> {transformer.name = "c"}) {
  %w = transformer.weight "w" : tensor<64x64xf32>
  %v = transformer.weight "b" : tensor<64xf32>
  %a = transformer.linear %x, %w bias(%v) {activation = #transformer.activation<relu>}
     : (tensor<?x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %b = transformer.linear %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %c = transformer.linear %a, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  return %a, %b, %c : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}
)";

class RoundedRowsTest : public testing::Test, protected TwoLevels {
protected:
  LinearModel model{rows, features, features};

  void open() {
    openLevels(model, "f16", code, 2, [](const Program &program) {
      const std::vector<Launch> &launches = program.functions[0].launches;
      ASSERT_EQ(launches.size(), 3u);
      for (const Launch &launch : launches)
        ASSERT_EQ(launch.rounded.size(), 2u) << launch.kernel;
      EXPECT_EQ(launches[0].rounded[0].index, launches[1].rounded[0].index);
      EXPECT_NE(launches[0].rounded[0].index, launches[2].rounded[0].index);
      EXPECT_EQ(launches[1].kernel, launches[2].kernel);
    });
  }

  /// The results of `some` rows from row `first` on, at level 2.
  std::vector<float> resultsOf(int64_t first, int64_t some) {
    auto from = model.input.values.begin() + first * features;
    auto found = call(
        sessions[1], "run",
        {{"x", Tensor::f32({some, features}, std::vector<float>(from, from + some * features))}});
    EXPECT_TRUE(found) << found.error().message;
    std::vector<float> all;
    for (const char *name : {"a", "b", "c"})
      if (found) {
        std::span<const float> y = found->at(name).values<float>();
        all.insert(all.end(), y.begin(), y.end());
      }
    return all;
  }
};

TEST_F(RoundedRowsTest, AreSharedByLaunches) {
  ASSERT_NO_FATAL_FAILURE(open());
  if (sessions.size() < 2)
    return;
  const std::vector<float> all = resultsOf(0, rows);
  ASSERT_EQ(all.size(), static_cast<size_t>(3 * rows * features));
  for (int64_t row : {0, 77, 149}) {
    const std::vector<float> alone = resultsOf(row, 1);
    for (int64_t result = 0; result < 3; ++result)
      EXPECT_EQ(std::memcmp(&alone[result * features], &all[(result * rows + row) * features],
                            features * sizeof(float)),
                0)
          << "row " << row << " of result " << result;
  }
  EXPECT_EQ(resultsOf(0, rows), all); // the next call rounds anew
}

TEST_F(RoundedRowsTest, AreInCopiesOfDistantArguments) {
  ASSERT_NO_FATAL_FAILURE(open());
  if (sessions.size() < 2)
    return;
  const std::vector<float> all = resultsOf(0, rows);
  sessions.clear();
  const ScopedVariable small("HEDDLE_VULKAN_LIMITS", "dots=1,range=110000");
  ASSERT_NO_FATAL_FAILURE(open());
  EXPECT_EQ(resultsOf(0, rows), all);
}

} // namespace
