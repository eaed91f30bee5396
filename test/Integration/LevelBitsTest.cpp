//===- LevelBitsTest.cpp - Levels 0 and 1 of Vulkan devices give equal bits ===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Level 1 stages products of many rows, and gives an invocation of attention a query
// by itself. Both take the steps of level 0 in its order. Rows and columns that end
// inside a tile, masks, a single query, and values that no query may see.
#include "LinearModel.h"

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

class LevelBitsTest : public testing::TestWithParam<std::string> {
protected:
  /// Opens sessions at both levels; skips where the device has no level 1.
  void open(const std::string &text, const LinearModel &weights) {
    for (int level : {0, 1}) {
      auto artifact = weights.compile(GetParam(), "vulkan", text);
      ASSERT_TRUE(artifact) << artifact.error().message;
      if (level == 1)
        for (const Kernel &kernel : artifact->program().kernels)
          for (const VulkanVariant &variant : kernel.vulkan)
            higher += variant.level == 1;
      auto session =
          Session::fromArtifact(std::move(*artifact), {.device = "vulkan", .vulkanLevel = level});
      if (!session && (isMissingDevice(session.error()) ||
                       session.error().message.find("expected a level of 0") != std::string::npos))
        GTEST_SKIP() << session.error().message;
      ASSERT_TRUE(session) << session.error().message;
      sessions.push_back(std::move(*session));
    }
  }

  void expectSameBits(const std::string &function, const Tensors &inputs) {
    HEDDLE_ASSERT(low, call(sessions[0], function, inputs));
    HEDDLE_ASSERT(high, call(sessions[1], function, inputs));
    EXPECT_TRUE(sameBits(high, low));
  }

  std::vector<Session> sessions;
  int higher = 0; ///< kernels that have another form at level 1
};

TEST_P(LevelBitsTest, Products) {
  constexpr int64_t rows = 150, features = 300;
  for (int64_t outputs : {150, 256}) {
    SCOPED_TRACE(outputs);
    LinearModel model(rows, features, outputs);
    model.activation = "gelu";
    sessions.clear();
    higher = 0;
    ASSERT_NO_FATAL_FAILURE(open(model.text(), model));
    if (sessions.size() < 2)
      return;
    // Codes are multiplied as at level 0.
    EXPECT_EQ(higher, GetParam().starts_with("int") ? 0 : 1);
    for (int64_t some : {rows, int64_t{9}, int64_t{1}}) {
      auto from = model.input.values.begin();
      const std::vector<float> x(from, from + some * features);
      expectSameBits("run", {{"x", Tensor::f32({some, features}, x)}});
    }
  }
}

/// Attention of `features` a head under a mask of queries and keys.
std::string attention(int64_t features, const std::string &mask) {
  const std::string type = "tensor<?x2x?x" + std::to_string(features) + "xf32>";
  auto argument = [&](const std::string &name, const std::string &length) {
    return "%" + name + ": " + type + " {transformer.name = \"" + name +
           "\", transformer.dims = [\"B\", 2, \"" + length + "\", " + std::to_string(features) +
           "]}";
  };
  return "func.func @h" + std::to_string(features) + "(" + argument("q", "T") + ", " +
         argument("k", "S") + ", " + argument("v", "S") +
         (mask.find("%n") == std::string::npos
              ? ""
              : ", %n: tensor<?xi32> {transformer.name = \"n\", transformer.dims = [\"B\"]}") +
         ") -> (" + type +
         " {transformer.name = \"o\"}) {\n" + mask + "  %o = transformer.attention %q, %k, %v" +
         (mask.empty() ? "" : " mask(%m)") + " {scale = 0.11 : f32} : (" + type + ", " + type +
         ", " + type + ") -> " + type + "\n  return %o : " + type + "\n}\n";
}

TEST_P(LevelBitsTest, Attention) {
  const std::string lengths = "  %l = transformer.mask.lengths %n : tensor<?xi32>\n",
                    both = lengths + "  %c = transformer.mask.causal\n"
                                     "  %m = transformer.mask.and %l, %c\n";
  LinearModel none(1, 1, 1);
  ASSERT_NO_FATAL_FAILURE(open(attention(32, "") + attention(64, both) +
                                   attention(128, "  %m = transformer.mask.window before = 9 after = 3\n"),
                               none));
  if (sessions.size() < 2)
    return;
  EXPECT_EQ(higher, 3);
  for (int64_t features : {32, 64, 128})
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{1, 70}, {70, 70}, {130, 130}}) {
      SCOPED_TRACE(std::to_string(features) + " features, " + std::to_string(queries) +
                   " queries");
      Matrix q = numbers(4 * queries, features, 1), k = numbers(4 * keys, features, 2),
             v = numbers(4 * keys, features, 3);
      v.fill(keys - 1, {1.0f, INFINITY, 2.0f, NAN}); // hidden from most queries by most masks
      k.fill(2 * keys + 3, {400.0f});
      auto tensor = [&](const Matrix &matrix, int64_t rows) {
        return Tensor::f32({2, 2, rows, features}, matrix.values);
      };
      const std::vector<int32_t> lengths{static_cast<int32_t>(keys - 5), 66};
      expectSameBits("h" + std::to_string(features), {{"q", tensor(q, queries)},
                                                      {"k", tensor(k, keys)},
                                                      {"v", tensor(v, keys)},
                                                      {"n", Tensor::i32({2}, lengths)}});
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, LevelBitsTest,
                         testing::Values("f32", "bf16", "f16", "int8", "int4"), targetName);

} // namespace
