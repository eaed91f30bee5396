//===- LevelBitsTest.cpp - Levels 0 and 1 of Vulkan devices give equal bits ===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Level 1 stages products of many rows, gives each invocation of attention a whole query, and
// exchanges parts of rows inside subgroups. All of these perform the operations of level 0 in its
// order and therefore give equal bits. Tests rows, columns and features that end inside a tile, few
// rows, masks, and values that no query may see.
#include "TwoLevels.h"

#include <cmath>
#include <cstdlib>

using namespace heddle;
using namespace heddle::test;

namespace {

class LevelBitsTest : public testing::TestWithParam<std::string>, protected TwoLevels {
protected:
  void open(const std::string &text, const LinearModel &weights) {
    openLevels(weights, GetParam(), text, 1, [this](const Program &program) {
      for (const Kernel &kernel : program.kernels)
        for (const VulkanVariant &variant : kernel.vulkan)
          higher += variant.level == 1;
    });
  }

  void expectSameBits(const std::string &function, const Tensors &inputs) {
    HEDDLE_ASSERT(low, call(sessions[0], function, inputs));
    HEDDLE_ASSERT(high, call(sessions[1], function, inputs));
    EXPECT_TRUE(sameBits(high, low));
  }

  void expectProducts(int64_t features) {
    constexpr int64_t rows = 150;
    // Tiles of 32 columns, the last one partial, or of 64.
    LinearModel model(rows, features, GetParam() == "f32" ? 150 : 128);
    model.activation = "relu";
    ASSERT_NO_FATAL_FAILURE(open(model.text(), model));
    if (sessions.size() < 2)
      return;
    // Codes have a kernel that rounds rows; int4 also has another form for few rows.
    EXPECT_EQ(higher, GetParam() == "int4" ? 3 : GetParam() == "int8" ? 2 : 1);
    for (int64_t some : {rows, int64_t{9}, int64_t{1}}) {
      auto from = model.input.values.begin();
      const std::vector<float> x(from, from + some * features);
      expectSameBits("run", {{"x", Tensor::f32({some, features}, x)}});
    }
  }

  int higher = 0; ///< kernels that have another form at level 1
};

TEST_P(LevelBitsTest, Products) { expectProducts(141); }

/// Number of features for which teams of invocations share a row's codes, and for which many
/// invocations hold a row.
class LevelBitsOfCodesTest : public LevelBitsTest {};
TEST_P(LevelBitsOfCodesTest, SharedRows) { expectProducts(320); }
TEST_P(LevelBitsOfCodesTest, WideRows) { expectProducts(1536); }
INSTANTIATE_TEST_SUITE_P(Formats, LevelBitsOfCodesTest, testing::Values("int8", "int4"),
                         targetName);

/// Attention with `features` features per head, under a mask of queries and keys.
std::string attention(int64_t features, const std::string &mask) {
  const std::string type = "tensor<?x2x?x" + std::to_string(features) + "xf32>";
  auto argument = [&](const std::string &name, const std::string &length) {
    return "%" + name + ": " + type + " {transformer.name = \"" + name +
           "\", transformer.dims = [\"B\", 2, \"" + length + "\", " + std::to_string(features) +
           "]}";
  };
  const bool counts = mask.find("%n") != std::string::npos;
  return "func.func @h" + std::to_string(features) + "(" + argument("q", "T") + ", " +
         argument("k", "S") + ", " + argument("v", "S") +
         (counts ? ", %n: tensor<?xi32> {transformer.name = \"n\", transformer.dims = [\"B\"]}"
                 : "") +
         ") -> (" + type + " {transformer.name = \"o\"}) {\n" + mask +
         "  %o = transformer.attention %q, %k, %v" + (mask.empty() ? "" : " mask(%m)") +
         " {scale = 0.11 : f32} : (" + type + ", " + type + ", " + type + ") -> " + type +
         "\n  return %o : " + type + "\n}\n";
}

TEST_P(LevelBitsTest, Attention) {
  if (!std::getenv("HEDDLE_TEST_DRIVERS"))
    GTEST_SKIP() << "drivers of 2023 compile its shaders for minutes; scripts/test drivers runs it "
                    "on newer ones";
  const std::string both = "  %l = transformer.mask.lengths %n : tensor<?xi32>\n"
                           "  %c = transformer.mask.causal\n"
                           "  %m = transformer.mask.and %l, %c\n";
  LinearModel none(1, 1, 1);
  ASSERT_NO_FATAL_FAILURE(
      open(attention(32, "") + attention(64, both) +
               attention(128, "  %m = transformer.mask.window before = 9 after = 3\n"),
           none));
  if (sessions.size() < 2)
    return;
  EXPECT_EQ(higher, GetParam() == "f16" ? 0 : 2); // heads of 128, and f16, keep level 0's kernel
  for (int64_t features : {32, 64, 128})
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{1, 70}, {70, 70}, {130, 130}}) {
      SCOPED_TRACE(std::to_string(features) + " features, " + std::to_string(queries) + " queries");
      Matrix q = numbers(4 * queries, features, 1), k = numbers(4 * keys, features, 2),
             v = numbers(4 * keys, features, 3);
      v.fill(keys - 1, {1.0f, INFINITY, 2.0f, NAN}); // most masks hide it from most queries
      k.fill(2 * keys + 3, {400.0f});
      auto tensor = [&](const Matrix &matrix, int64_t rows) {
        return Tensor::f32({2, 2, rows, features}, matrix.values);
      };
      Tensors inputs{{"q", tensor(q, queries)}, {"k", tensor(k, keys)}, {"v", tensor(v, keys)}};
      const std::vector<int32_t> lengths{static_cast<int32_t>(keys - 5), 66};
      if (features == 64)
        inputs.emplace("n", Tensor::i32({2}, lengths));
      expectSameBits("h" + std::to_string(features), inputs);
    }
}

/// Norms of rows of `columns`. Teams of invocations take parts of a row, or hold all of it, if the
/// size is divisible.
std::string norms(int64_t columns) {
  const std::string row = "tensor<?x" + std::to_string(columns) + "xf32>",
                    vector = "tensor<" + std::to_string(columns) + "xf32>";
  return "func.func @run(%x: " + row + " {transformer.name = \"x\"}) -> (" + row +
         " {transformer.name = \"y\"}) {\n  %b = transformer.weight \"b\" : " + vector +
         "\n  %n = transformer.rms_norm %x, %b {epsilon = 1.0e-5 : f32} : (" + row + ", " + vector +
         ") -> " + row + "\n  %l = transformer.layer_norm %n, %b, %b {epsilon = 1.0e-5 : f32} : (" +
         row + ", " + vector + ", " + vector + ") -> " + row +
         "\n  %y = transformer.softmax %l : " + row + "\n  return %y : " + row + "\n}\n";
}

TEST_P(LevelBitsTest, Norms) {
  for (int64_t columns : {144, 96, 512, 640, 768, 1152, 2048, 4096}) {
    LinearModel weights(40, 140, columns);
    sessions.clear();
    higher = 0;
    ASSERT_NO_FATAL_FAILURE(open(norms(columns), weights));
    if (sessions.size() < 2)
      return;
    EXPECT_EQ(higher, 3);
    for (int64_t rows : {40, 3})
      expectSameBits("run",
                     {{"x", Tensor::f32({rows, columns}, numbers(rows, columns, 5).values)}});
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, LevelBitsTest,
                         testing::Values("f32", "bf16", "f16", "int8", "int4"), targetName);

} // namespace
