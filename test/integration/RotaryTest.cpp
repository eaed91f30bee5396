//===- RotaryTest.cpp - Rotary position embeddings ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares rotary positions with the paper's formula, a product of complex numbers. The bits of a
// projection's kernel are compared with the bits of a kernel that only rotates.
#include "LinearModel.h"
#include "TemporaryFolder.h"
#include "heddle/ExecutionEngine/Jit.h"
#include "heddle/Support/Text.h"

#include <cmath>
#include <complex>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t sentences = 2, heads = 3, rows = 37, features = 24;

/// Size of heads, and the part of them that is rotated.
struct Rotation {
  int64_t size;
  double fraction, base, factor = 1, magnitude = 0; ///< magnitude: of frequencies; 0: none

  /// If frequencies are given, they do not follow from any base.
  double frequency(int64_t pair) const {
    return magnitude > 0
               ? 1 / (1.0 + 3.0 * static_cast<double>(pair))
               : std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(rotated())) /
                     factor;
  }
  int64_t rotated() const { return static_cast<int64_t>(fraction * static_cast<double>(size)); }
};

/// Rotations of whole heads and of parts, by tiles (halves of 16, 32 and 48) and by elements
/// (others).
const Rotation rotations[] = {{64, 1, 10000},   {64, 0.5, 500000, 8},    {96, 1, 100},
                              {40, 0.8, 10000}, {20, 1, 10000},          {38, 0.7, 1000, 2.5},
                              {5, 0.5, 1},      {64, 1, 10000, 1, 1.25}, {20, 0.6, 10000, 1, 0.75}};

class RotaryTest : public testing::TestWithParam<std::tuple<std::string, Rotation>> {
protected:
  /// Functions: `run` projects x, splits it into heads and rotates them; `project` does not rotate;
  /// `rotate` only rotates.
  static std::string text(const Rotation &rotation) {
    auto scaled = [](const Rotation &given) {
      if (given.magnitude == 0)
        return std::string();
      std::string numbers;
      for (int64_t pair = 0; pair < given.rotated() / 2; ++pair)
        numbers += (pair ? ", " : "") + formatted("%.17e", given.frequency(pair));
      return ", frequencies = array<f64: " + numbers +
             ">, magnitude = " + std::to_string(given.magnitude) + " : f64";
    };
    std::string size = std::to_string(rotation.size), all = std::to_string(rotation.size * heads),
                split = "tensor<?x" + std::to_string(heads) + "x?x" + size + "xf32>";
    auto function = [&](const std::string &name, const std::string &from, const std::string &body) {
      return "func.func @" + name + "(%x: " + from + " {transformer.name = \"x\"}) -> (" + split +
             " {transformer.name = \"y\"}) {\n" + body + "  return %y : " + split + "\n}\n";
    };
    std::string in = "tensor<?x?x" + std::to_string(features) + "xf32>",
                out = "tensor<?x?x" + all + "xf32>";
    auto project = [&](const std::string &result) {
      std::string w = "tensor<" + all + "x" + std::to_string(features) + "xf32>",
                  b = "tensor<" + all + "xf32>";
      return "  %w = transformer.weight \"w\" : " + w + "\n  %b = transformer.weight \"b\" : " + b +
             "\n  %p = transformer.linear %x, %w bias(%b) : (" + in + ", " + w + ", " + b +
             ") -> " + out + "\n  " + result +
             " = transformer.split_heads %p {heads = " + std::to_string(heads) +
             " : i64} : " + out + " -> " + split + "\n";
    };
    auto rotary = [&](const std::string &input) {
      return "  %y = transformer.rotary " + input + " {base = " + std::to_string(rotation.base) +
             " : f64, fraction = " + std::to_string(rotation.fraction) +
             " : f64, factor = " + std::to_string(rotation.factor) + " : f64" + scaled(rotation) +
             "} : " + split + "\n";
    };
    return function("run", in, project("%h") + rotary("%h")) +
           function("project", in, project("%y")) + function("rotate", split, rotary("%x"));
  }

  void SetUp() override {
    const auto &[target, rotation] = GetParam();
    TemporaryFolder folder;
    CompileOptions options;
    options.weights = folder / "weights.safetensors";
    LinearModel(1, features, heads * rotation.size).writeWeights(options.weights);
    bool onCpu = target != "vulkan";
    options.targets = {onCpu ? "cpu" : "vulkan"};
    if (onCpu)
      options.cpus = {target};
    HEDDLE_ASSERT(artifact, compileToMemory(folder.write("rotary.mlir", text(rotation)), options));
    auto opened = Session::fromArtifact(std::move(artifact), {.device = onCpu ? "cpu" : "vulkan"});
    if (!opened && LinearModel::isMissing(opened.error()))
      GTEST_SKIP() << opened.error().message;
    ASSERT_TRUE(opened) << opened.error().message;
    session = std::move(*opened);
  }

  Expected<Tensor> run(const std::string &function, const Tensor &x) {
    auto outputs = call(*session, function, {{"x", x}});
    return outputs ? Expected(outputs->at("y")) : outputs.takeError();
  }

  std::optional<Session> session;
};

TEST_P(RotaryTest, IsAProductOfComplexNumbers) {
  const Rotation rotation = std::get<1>(GetParam());
  const Matrix x = numbers(sentences * heads * rows, rotation.size, 5);
  HEDDLE_ASSERT(y, run("rotate", Tensor::f32({sentences, heads, rows, rotation.size}, x.values)));
  std::span<const float> found = y.values<float>();
  const int64_t rotated = rotation.rotated(), half = rotated / 2;
  for (int64_t row = 0; row < x.rows; ++row) {
    const float *in = x.values.data() + row * rotation.size,
                *out = found.data() + row * rotation.size;
    for (int64_t i = 0; i < half; ++i) {
      std::complex<double> expected =
          std::complex<double>(in[i], in[i + half]) *
          std::polar(rotation.magnitude > 0 ? rotation.magnitude : 1.0,
                     static_cast<double>(row % rows) * rotation.frequency(i));
      ASSERT_NEAR(out[i], expected.real(), 3e-7) << "row " << row << ", pair " << i;
      ASSERT_NEAR(out[i + half], expected.imag(), 3e-7) << "row " << row << ", pair " << i;
    }
    for (int64_t i = rotated; i < rotation.size; ++i)
      ASSERT_EQ(out[i], in[i]) << "row " << row << ", feature " << i;
  }
}

TEST_P(RotaryTest, ProjectionsGiveTheSameBits) {
  const Matrix x = numbers(sentences * rows, features, 7);
  const Tensor input = Tensor::f32({sentences, rows, features}, x.values);
  HEDDLE_ASSERT(together, run("run", input));
  HEDDLE_ASSERT(projected, run("project", input));
  HEDDLE_ASSERT(apart, run("rotate", projected));
  EXPECT_TRUE(sameBits(together, apart));
}

INSTANTIATE_TEST_SUITE_P(Devices, RotaryTest,
                         testing::Combine(testing::Values<std::string>("x86-64-v2", "x86-64-v3",
                                                                       "x86-64-v4", "vulkan"),
                                          testing::ValuesIn(rotations)),
                         [](const auto &info) {
                           const Rotation rotation = std::get<1>(info.param);
                           return targetName({std::get<0>(info.param), 0}) + "_" +
                                  std::to_string(rotation.rotated()) + "_of_" +
                                  std::to_string(rotation.size) +
                                  (rotation.magnitude > 0 ? "_by_frequencies" : "");
                         });

} // namespace
