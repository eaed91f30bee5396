//===- ReferenceTest.cpp - The reference against values computed by hand --===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests every op on tensors so small that the expected values can be checked on
// paper, and the edge cases that docs/semantics.md defines.

#include "heddle/ExecutionEngine/Reference.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"

#include <cmath>
#include <limits>

using namespace heddle;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

RefTensor f32(std::vector<int64_t> shape, std::vector<double> values) {
  return {DType::F32, std::move(shape), std::move(values)};
}
RefTensor i32(std::vector<int64_t> shape, std::vector<double> values) {
  return {DType::I32, std::move(shape), std::move(values)};
}

/// A module parsed from text, and its reference.
class ReferenceTest : public ::testing::Test {
protected:
  ReferenceTest() {
    context.loadDialect<transformer::TransformerDialect, kernel::KernelDialect,
                        mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::tensor::TensorDialect>();
  }
  void parse(const char *text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    reference.emplace(*module, [this](const std::string &name, DType) -> Expected<ReferenceValues> {
      if (auto found = weights.find(name); found != weights.end())
        return ReferenceValues{found->second};
      return inputError(name + ": missing");
    });
  }
  /// The results of a run, which must succeed.
  NamedRefTensors run(const char *function, const NamedRefTensors &inputs) {
    Expected<NamedRefTensors> results = reference->run(function, inputs);
    EXPECT_TRUE(results) << (results ? "" : results.error().message);
    return results ? *results : NamedRefTensors();
  }
  std::string failure(const char *function, const NamedRefTensors &inputs) {
    Expected<NamedRefTensors> results = reference->run(function, inputs);
    return results ? "no error" : results.error().message;
  }
  static void expectNear(const RefTensor &tensor, std::vector<double> values,
                         double tolerance = 1e-12) {
    EXPECT_THAT(tensor.values, Pointwise(DoubleNear(tolerance), values));
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::string, std::vector<float>> weights;
  std::optional<Reference> reference;
};

//===- Codes -------------------------------------------------------------===//

/// Two groups of features, the second with two features: e and s of each group, and a product with
/// the exact codes of integer weights. A NaN reaches its column or its row.
TEST_F(ReferenceTest, GroupsOfCodes) {
  parse(R"(
func.func @f(%x: tensor<?x34xf32>) -> (tensor<?x4xf32>, tensor<?x2xf32>) {
  %w = transformer.weight "w" : tensor<2x34xi4>
  %q, %s = transformer.quantize %x : tensor<?x34xf32> -> tensor<?x34xi8>, tensor<?x4xf32>
  %y = transformer.linear %q, %w scales(%s) : (tensor<?x34xi8>, tensor<2x34xi4>, tensor<?x4xf32>) -> tensor<?x2xf32>
  return %s, %y : tensor<?x4xf32>, tensor<?x2xf32>
})");
  std::vector<float> &w = weights["w"];
  w.assign(68, 0.0f);
  w[0] = -8, w[1] = 7; // a scale of 1 above a minimum of -8
  w[32] = w[33] = 3;   // a scale of 0
  w[34 + 5] = NAN;
  std::vector<double> x(102, 0.0);
  x[0] = 127, x[1] = -63.4; // 127 and -63, times 1
  x[32] = 254, x[33] = -2;  // 127 and -1, times 2
  x[34] = 0x1p-119, x[34 + 33] = 1;
  x[68 + 6] = infinity;
  auto r = run("f", {{"arg0", f32({3, 34}, x)}});
  auto scales = r[0].second.values, y = r[1].second.values;
  EXPECT_THAT(std::vector(scales.begin(), scales.begin() + 4), ElementsAre(1, 64, 2, 252));
  EXPECT_THAT(std::vector(scales.begin() + 4, scales.begin() + 8),
              ElementsAre(0, 0, 1.0f / 127, 1.0f / 127 * 127));
  EXPECT_TRUE(std::isnan(scales[8]) && std::isnan(scales[9]));
  EXPECT_THAT(std::vector(scales.begin() + 10, scales.end()), ElementsAre(0, 0));
  EXPECT_EQ(y[0], 127 * -8 - 63 * 7 + 254 * 3 - 2 * 3);
  EXPECT_NEAR(y[2], 3, 1e-6);
  for (size_t i : {1, 3, 4, 5})
    EXPECT_TRUE(std::isnan(y[i])) << i;
}

//===- Attention ---------------------------------------------------------===//

constexpr const char *oneRow = R"(
func.func @f(%q: tensor<1x1x1x1xf32>, %k: tensor<1x1x?x1xf32>, %v: tensor<1x1x?x1xf32>, %keep: tensor<1x1x1x?xi1>)
    -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1x?xf32>) {
  %m = transformer.mask.dense %keep : tensor<1x1x1x?xi1>
  %o, %l, %w = transformer.attention %q, %k, %v mask(%m) {scale = 1.0 : f32}
     : (tensor<1x1x1x1xf32>, tensor<1x1x?x1xf32>, tensor<1x1x?x1xf32>) -> tensor<1x1x1x1xf32> lse tensor<1x1x1xf32> weights tensor<1x1x1x?xf32>
  return %o, %l, %w : tensor<1x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1x?xf32>
})";

NamedRefTensors rowInputs(std::vector<double> keys, std::vector<double> values,
                          std::vector<double> keep) {
  int64_t n = keys.size();
  return {{"arg0", f32({1, 1, 1, 1}, {1})},
          {"arg1", f32({1, 1, n, 1}, std::move(keys))},
          {"arg2", f32({1, 1, n, 1}, std::move(values))},
          {"arg3", {DType::Bool, {1, 1, 1, n}, std::move(keep)}}};
}

TEST_F(ReferenceTest, AttentionWeighsByExponentials) {
  parse(oneRow);
  auto r = run("f", rowInputs({0, std::log(3.0)}, {4, 8}, {1, 1}));
  expectNear(r[0].second, {0.25 * 4 + 0.75 * 8});
  expectNear(r[1].second, {std::log(4.0)});
  expectNear(r[2].second, {0.25, 0.75});
  EXPECT_EQ(r[2].first, "out2");
}

TEST_F(ReferenceTest, FullyMaskedRowIsZero) {
  parse(oneRow);
  auto r = run("f", rowInputs({0, 1}, {4, 8}, {0, 0}));
  EXPECT_EQ(r[0].second.values[0], 0);
  EXPECT_EQ(r[1].second.values[0], -infinity);
  EXPECT_THAT(r[2].second.values, ElementsAre(0, 0));
}

TEST_F(ReferenceTest, NothingOfAMaskedKeyReachesTheRow) {
  parse(oneRow);
  auto r = run("f", rowInputs({notANumber, 0}, {notANumber, 8}, {0, 1}));
  expectNear(r[0].second, {8});
  r = run("f", rowInputs({0, 1}, {infinity, 8}, {0, 1}));
  expectNear(r[0].second, {8});
}

TEST_F(ReferenceTest, MinusInfinityIsMasked) {
  parse(oneRow);
  auto r = run("f", rowInputs({-infinity, 0}, {notANumber, 8}, {1, 1}));
  expectNear(r[0].second, {8});
  r = run("f", rowInputs({-infinity, -infinity}, {1, 2}, {1, 1}));
  EXPECT_EQ(r[0].second.values[0], 0);
}

TEST_F(ReferenceTest, NanOrInfinityAtAnAllowedKeyMakesTheRowNan) {
  parse(oneRow);
  for (double bad : {notANumber, infinity, 3.0e38 * 3}) {
    auto r = run("f", rowInputs({bad, 0}, {4, 8}, {1, 1}));
    EXPECT_TRUE(std::isnan(r[0].second.values[0]));
    EXPECT_TRUE(std::isnan(r[1].second.values[0]));
  }
}

TEST_F(ReferenceTest, CausalCountsFromTheLastKey) {
  parse(R"(
func.func @f(%x: tensor<1x2x2x1xf32>, %k: tensor<1x1x3x1xf32>, %v: tensor<1x1x3x1xf32>) -> tensor<1x2x2x1xf32> {
  %m = transformer.mask.causal
  %o = transformer.attention %x, %k, %v mask(%m) {scale = 0.0 : f32} : (tensor<1x2x2x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>) -> tensor<1x2x2x1xf32>
  return %o : tensor<1x2x2x1xf32>
}
func.func @offsets(%x: tensor<2x1x1x1xf32>, %n: tensor<2xi32>, %len: tensor<2xi32>) -> tensor<2x1x1x1xf32> {
  %m = transformer.mask.causal offset(%n : tensor<2xi32>)
  %l = transformer.mask.lengths %len : tensor<2xi32>
  %h = transformer.mask.not %l
  %b = transformer.mask.and %m, %h
  %o = transformer.attention %x, %x, %x mask(%b) {scale = 1.0 : f32} : (tensor<2x1x1x1xf32>, tensor<2x1x1x1xf32>, tensor<2x1x1x1xf32>) -> tensor<2x1x1x1xf32>
  return %o : tensor<2x1x1x1xf32>
})");
  // Both heads share one key head; query 0 sees keys 0 and 1, query 1 all three.
  auto r = run("f", {{"arg0", f32({1, 2, 2, 1}, {1, 1, 1, 1})},
                     {"arg1", f32({1, 1, 3, 1}, {0, 0, 0})},
                     {"arg2", f32({1, 1, 3, 1}, {1, 3, 8})}});
  expectNear(r[0].second, {2, 4, 2, 4});
  // The offset hides all keys from sequence 0, and no key from sequence 1.
  r = run("offsets", {{"arg0", f32({2, 1, 1, 1}, {5, 7})},
                      {"arg1", i32({2}, {-1, 0})},
                      {"arg2", i32({2}, {0, 0})}});
  expectNear(r[0].second, {0, 7});
}

TEST_F(ReferenceTest, SeparatedWeightsAreTheWeights) {
  parse(R"(
!q = tensor<1x2x2x2xf32>
func.func @f(%q: !q, %k: !q) -> (tensor<1x2x2xf32>, tensor<1x2x2xf32>) {
  %c = transformer.mask.causal
  %o, %a = transformer.attention %q, %k, %k mask(%c) {average_weights, scale = 0.7 : f32} : (!q, !q, !q) -> !q weights tensor<1x2x2xf32>
  %m, %s = transformer.attention.statistics %q, %k mask(%c) {scale = 0.7 : f32} : (!q, !q) -> tensor<1x2x2xf32>
  %w = transformer.attention.weights %q, %k, %m, %s mask(%c) {average, scale = 0.7 : f32} : (!q, !q, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
  return %a, %w : tensor<1x2x2xf32>, tensor<1x2x2xf32>
})");
  auto r = run("f", {{"arg0", f32({1, 2, 2, 2}, {1, -2, 3, 0.5, 2, 2, -1, 4})},
                     {"arg1", f32({1, 2, 2, 2}, {0.3, 1, -1, 2, 0, 1, 5, -2})}});
  EXPECT_DOUBLE_EQ(r[0].second.values[0], 1); // the first query sees one key
  expectNear(r[1].second, r[0].second.values);
}

//===- The other ops -----------------------------------------------------===//

TEST_F(ReferenceTest, EmbeddingAndPositions) {
  parse(R"(
func.func @f(%ids: tensor<1x2xi32>, %t: tensor<3x3xf32>, %n: i32) -> tensor<1x2x3xf32> {
  %e = transformer.embedding %ids, %t {scale = 2.0 : f32, padding_id = 0 : i64} : (tensor<1x2xi32>, tensor<3x3xf32>) -> tensor<1x2x3xf32>
  %p = transformer.position.sinusoidal %e offset(%n : i32) {scale = 0.5 : f32} : tensor<1x2x3xf32>
  return %p : tensor<1x2x3xf32>
})");
  auto r = run("f", {{"arg0", i32({1, 2}, {0, 2})},
                     {"arg1", f32({3, 3}, {9, 9, 9, 1, 1, 1, 4, 5, 6})},
                     {"arg2", i32({}, {3})}});
  double f = std::pow(10000.0, -2.0 / 3);
  expectNear(r[0].second,
             {0.5 * std::sin(3), 0.5 * std::cos(3), 0.5 * std::sin(3 * f), 8 + 0.5 * std::sin(4),
              10 + 0.5 * std::cos(4), 12 + 0.5 * std::sin(4 * f)});
  EXPECT_THAT(failure("f", {{"arg0", i32({1, 2}, {0, 3})},
                            {"arg1", f32({3, 3}, std::vector<double>(9))},
                            {"arg2", i32({}, {0})}}),
              HasSubstr("expected ids in [0, 3), found 3"));
}

/// Heads of four features are rotated in two pairs, by 1 and 0.1 for each row, from row 3 on. Then
/// one pair is rotated from the start of each document.
TEST_F(ReferenceTest, RotaryPositions) {
  parse(R"(
func.func @f(%x: tensor<1x1x2x4xf32>, %n: i32) -> tensor<1x1x2x4xf32> {
  %y = transformer.rotary %x offset(%n : i32) {base = 100.0 : f64} : tensor<1x1x2x4xf32>
  return %y : tensor<1x1x2x4xf32>
}
func.func @g(%x: tensor<1x1x3x4xf32>, %s: tensor<?xi32>) -> tensor<1x1x3x4xf32> {
  %y = transformer.rotary %x documents(%s : tensor<?xi32>) {fraction = 0.5 : f64} : tensor<1x1x3x4xf32>
  return %y : tensor<1x1x3x4xf32>
})");
  auto r =
      run("f", {{"arg0", f32({1, 1, 2, 4}, {1, 2, 3, 4, 1, 0, 0, 1})}, {"arg1", i32({}, {3})}});
  expectNear(r[0].second, {std::cos(3) - 3 * std::sin(3), 2 * std::cos(0.3) - 4 * std::sin(0.3),
                           3 * std::cos(3) + std::sin(3), 4 * std::cos(0.3) + 2 * std::sin(0.3),
                           std::cos(4), -std::sin(0.4), std::sin(4), std::cos(0.4)});
  r = run("g", {{"arg0", f32({1, 1, 3, 4}, {1, 0, 5, 6, 1, 0, 7, 8, 0, 1, 9, 10})},
                {"arg1", i32({3}, {0, 2, 3})}});
  expectNear(r[0].second, {1, 0, 5, 6, std::cos(1), std::sin(1), 7, 8, 0, 1, 9, 10});
}

TEST_F(ReferenceTest, RotaryFrequenciesAndMagnitude) {
  parse(R"(
func.func @f(%x: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %y = transformer.rotary %x {frequencies = array<f64: 2.0, 0.5>, magnitude = 3.0 : f64} : tensor<1x1x2x4xf32>
  return %y : tensor<1x1x2x4xf32>
})");
  auto r = run("f", {{"arg0", f32({1, 1, 2, 4}, {1, 2, 3, 4, 1, 0, 0, 1})}});
  expectNear(r[0].second, {3, 6, 9, 12, 3 * std::cos(2), -3 * std::sin(0.5), 3 * std::sin(2),
                           3 * std::cos(0.5)});
}

TEST_F(ReferenceTest, NormsOfEachHeadAndSoftcaps) {
  weights = {{"w", {1, 2, 10, 20}}, {"b", {0, 1, 2, 3}}};
  parse(R"(
func.func @f(%x: tensor<1x2x1x2xf32>) -> (tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>) {
  %w = transformer.weight "w" : tensor<2x2xf32>
  %b = transformer.weight "b" : tensor<2x2xf32>
  %r = transformer.rms_norm %x, %w {epsilon = 0.0 : f32} : (tensor<1x2x1x2xf32>, tensor<2x2xf32>) -> tensor<1x2x1x2xf32>
  %l = transformer.layer_norm %x, %w, %b {epsilon = 0.0 : f32} : (tensor<1x2x1x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x1x2xf32>
  %c = transformer.softcap %x {cap = 2.0 : f32} : tensor<1x2x1x2xf32>
  return %r, %l, %c : tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>
})");
  auto r = run("f", {{"arg0", f32({1, 2, 1, 2}, {3, -3, 1, 7})}});
  expectNear(r[0].second, {1, -2, 10 / 5.0, 20 * 7 / 5.0});
  expectNear(r[1].second, {1, -2 + 1, -10 + 2, 20 + 3});
  expectNear(r[2].second,
             {2 * std::tanh(1.5), -2 * std::tanh(1.5), 2 * std::tanh(0.5), 2 * std::tanh(3.5)});
}

TEST_F(ReferenceTest, LimitsOfGates) {
  weights = {{"g", {1, 0, 0, 2}}, {"w", {1, 0, 0, 1}}};
  parse(R"(
func.func @f(%x: tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  %g = transformer.weight "g" : tensor<2x2xf32>
  %w = transformer.weight "w" : tensor<2x2xf32>
  %y = transformer.gate %x, %x {activation = #transformer.activation<sigmoid>, limit = 2.0 : f32, offset = 1.0 : f32} : tensor<?x2xf32>
  %f = transformer.ffn %x in(%w) out(%w) gate(%g) {limit = 3.0 : f32} : (tensor<?x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  return %y, %f : tensor<?x2xf32>, tensor<?x2xf32>
})");
  auto r = run("f", {{"arg0", f32({2, 2}, {-4, 0.5, 4, 1})}});
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  expectNear(r[0].second, {-sigmoid(-4), 1.5 * sigmoid(0.5), 3 * sigmoid(2), 2 * sigmoid(1)});
  expectNear(r[1].second, {12, 0.5, 9, 2});
  r = run("f", {{"arg0", f32({1, 2}, {NAN, 0})}});
  EXPECT_TRUE(std::isnan(r[0].second.values[0]));
  EXPECT_EQ(r[0].second.values[1], 0.5);
}

TEST_F(ReferenceTest, SlopesOfActivations) {
  weights = {{"s", {0, 1}}};
  parse(R"(
func.func @f(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %s = transformer.weight "s" : tensor<2xf32>
  %y = transformer.xielu %x, %s : tensor<?x3xf32>, tensor<2xf32>
  return %y : tensor<?x3xf32>
})");
  auto r = run("f", {{"arg0", f32({1, 3}, {2, -2, 0})}});
  const double above = std::log(2.0), below = 0.5 + std::log(1 + std::exp(1.0));
  expectNear(r[0].second, {4 * above + 1, below * (std::exp(-2.0) + 1) - 1, -1e-6 * below}, 1e-11);
}

TEST_F(ReferenceTest, ProductsNormsAndSums) {
  weights = {{"w", {1, 2, 3, -4}}, {"b", {10, 1}}};
  parse(R"(
func.func @f(%x: tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>) {
  %w = transformer.weight "w" : tensor<2x2xf32>
  %b = transformer.weight "b" : tensor<2xf32>
  %y = transformer.linear %x, %w bias(%b) {activation = #transformer.activation<relu>} : (tensor<?x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  %s = arith.addf %x, %y : tensor<?x2xf32>
  %n = transformer.layer_norm %x, %b, %b {epsilon = 0.0 : f32} : (tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  %f = transformer.ffn %x in(%w) out(%w, %b) {activation = #transformer.activation<relu>} : (tensor<?x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  return %s, %n, %f : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>
})");
  auto r = run("f", {{"arg0", f32({1, 2}, {1, 3})}});
  expectNear(r[0].second, {1 + 17, 3 + 0}); // 1*1 + 2*3 + 10; relu(3*1 - 4*3 + 1)
  expectNear(r[1].second, {-1 * 10 + 10, 1 + 1});
  expectNear(r[2].second, {7 + 10, 21 + 1}); // hidden (7, 0)
}

TEST_F(ReferenceTest, GatedBlock) {
  weights = {{"w", {1, 2, 3, -4}}, {"b", {10, 1}}};
  parse(R"(
func.func @f(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %w = transformer.weight "w" : tensor<2x2xf32>
  %b = transformer.weight "b" : tensor<2xf32>
  %f = transformer.ffn %x in(%w) out(%w) gate(%w, %b) {activation = #transformer.activation<relu>} : (tensor<?x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  return %f : tensor<?x2xf32>
})");
  auto r = run("f", {{"arg0", f32({1, 2}, {1, 3})}});
  expectNear(r[0].second, {119, 3 * 119}); // in (7, -9), gate relu(17, -8), hidden (7 * 17, 0)
}

TEST_F(ReferenceTest, NormsWithoutMeanOrRoot) {
  parse(R"(
func.func @f(%x: tensor<?x2xf32>, %g: tensor<2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  %a = transformer.rms_norm %x, %g {epsilon = 3.5 : f32} : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  %b = transformer.layer_norm %x, %g, %g {epsilon = 1.0 : f32, root = false} : (tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  return %a, %b : tensor<?x2xf32>, tensor<?x2xf32>
})");
  auto r = run("f", {{"arg0", f32({1, 2}, {3, -4})}, {"arg1", f32({2}, {1, 2})}});
  expectNear(r[0].second, {3.0 / 4, -4.0 / 4 * 2}); // (9 + 16) / 2 + 3.5 is 16
  expectNear(r[1].second, {3.5 / 13.25 + 1, -3.5 / 13.25 * 2 + 2});
}

TEST_F(ReferenceTest, ImagesAsRows) {
  weights = {{"w", {1, 1, 1, 1, 1, 0, 0, 0}}, {"t", {7, 8}}};
  parse(R"(
func.func @f(%x: tensor<?x1x2x4xf32>) -> (tensor<?x2x4xf32>, tensor<?x3x2xf32>) {
  %p = transformer.patches %x {size = 2 : i64} : tensor<?x1x2x4xf32> -> tensor<?x2x4xf32>
  %w = transformer.weight "w" : tensor<2x1x2x2xf32>
  %y = transformer.patch_embedding %x, %w : (tensor<?x1x2x4xf32>, tensor<2x1x2x2xf32>) -> tensor<?x2x2xf32>
  %t = transformer.weight "t" : tensor<1x2xf32>
  %z = transformer.concat %t, %y : (tensor<1x2xf32>, tensor<?x2x2xf32>) -> tensor<?x3x2xf32>
  return %p, %z : tensor<?x2x4xf32>, tensor<?x3x2xf32>
})");
  auto r = run("f", {{"arg0", f32({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}});
  expectNear(r[0].second, {1, 2, 5, 6, 3, 4, 7, 8});
  expectNear(r[1].second, {7, 8, 14, 1, 22, 3});
}

TEST_F(ReferenceTest, RowsBesideTheirNeighbours) {
  parse(R"(
func.func @f(%x: tensor<?x3x2xf32>) -> (tensor<?x3x6xf32>, tensor<?x1x9xf32>) {
  %a = transformer.unfold %x {size = 3 : i64} : tensor<?x3x2xf32> -> tensor<?x3x6xf32>
  %b = transformer.unfold %x {channels_first, size = 3 : i64, stride = 2 : i64} : tensor<?x3x2xf32> -> tensor<?x1x9xf32>
  return %a, %b : tensor<?x3x6xf32>, tensor<?x1x9xf32>
})");
  auto r = run("f", {{"arg0", f32({1, 3, 2}, {1, 2, 3, 4, 5, 6})}});
  // Rows (1 2) (3 4) (5 6) with the rows before and after, for each channel; then with channels as
  // rows.
  expectNear(r[0].second, {0, 1, 3, 0, 2, 4, 1, 3, 5, 2, 4, 6, 3, 5, 0, 4, 6, 0});
  expectNear(r[1].second, {0, 1, 2, 0, 3, 4, 0, 5, 6});
}

TEST_F(ReferenceTest, LearnedPositionsEnd) {
  parse(R"(
func.func @f(%x: tensor<1x?x2xf32>, %t: tensor<2x2xf32>) -> tensor<1x?x2xf32> {
  %y = transformer.position.learned %x, %t {scale = 2.0 : f32} : tensor<1x?x2xf32>, tensor<2x2xf32>
  return %y : tensor<1x?x2xf32>
}
func.func @packed(%x: tensor<1x?x2xf32>, %t: tensor<2x2xf32>, %s: tensor<?xi32>) -> tensor<1x?x2xf32> {
  %y = transformer.position.learned %x, %t documents(%s : tensor<?xi32>) : tensor<1x?x2xf32>, tensor<2x2xf32>
  return %y : tensor<1x?x2xf32>
})");
  RefTensor table = f32({2, 2}, {1, 2, 3, 4});
  auto r = run("f", {{"arg0", f32({1, 2, 2}, {0, 0, 10, 10})}, {"arg1", table}});
  expectNear(r[0].second, {2, 4, 16, 18});
  r = run("packed", {{"arg0", f32({1, 3, 2}, {0, 0, 0, 0, 0, 0})},
                     {"arg1", table},
                     {"arg2", i32({3}, {0, 2, 3})}});
  expectNear(r[0].second, {1, 2, 3, 4, 1, 2});
  EXPECT_THAT(failure("f", {{"arg0", f32({1, 3, 2}, {0, 0, 0, 0, 0, 0})}, {"arg1", table}}),
              HasSubstr("expected positions below 2, found 2"));
}

TEST_F(ReferenceTest, SoftmaxAndLoss) {
  parse(R"(
func.func @f(%x: tensor<1x?x2xf32>, %r: tensor<1x?xi32>) -> (tensor<1x?x2xf32>, tensor<1x?xi32>, tensor<1xf32>) {
  %p = transformer.softmax %x : tensor<1x?x2xf32>
  %s = transformer.shift_right %r {start = 7 : i64} : tensor<1x?xi32>
  %l = transformer.cross_entropy %x, %r {padding_id = 0 : i64} : (tensor<1x?x2xf32>, tensor<1x?xi32>) -> tensor<1xf32>
  return %p, %s, %l : tensor<1x?x2xf32>, tensor<1x?xi32>, tensor<1xf32>
})");
  auto r =
      run("f", {{"arg0", f32({1, 3, 2}, {0, std::log(3.0), -infinity, 5, -infinity, -infinity})},
                {"arg1", i32({1, 3}, {1, 1, 0})}});
  expectNear(r[0].second, {0.25, 0.75, 0, 1, 0, 0});
  EXPECT_THAT(r[1].second.values, ElementsAre(7, 1, 1));
  expectNear(r[2].second, {-std::log(0.75) / 2});
  r = run("f", {{"arg0", f32({1, 1, 2}, {1, infinity})}, {"arg1", i32({1, 1}, {0})}});
  EXPECT_TRUE(std::isnan(r[0].second.values[0]) && std::isnan(r[0].second.values[1]));
  EXPECT_EQ(r[2].second.values[0], 0) << "no id but padding";
  parse(R"(
func.func @f(%r: tensor<1x?xi32>, %d: tensor<?xi32>) -> tensor<1x?xi32> {
  %s = transformer.shift_right %r documents(%d : tensor<?xi32>) {start = 7 : i64} : tensor<1x?xi32>
  return %s : tensor<1x?xi32>
})");
  r = run("f", {{"arg0", i32({1, 4}, {1, 2, 3, 4})}, {"arg1", i32({4}, {0, 1, 1, 4})}});
  EXPECT_THAT(r[0].second.values, ElementsAre(7, 7, 2, 3));
}

TEST_F(ReferenceTest, Activations) {
  weights = {{"one", {1}}};
  std::vector<std::pair<std::string, double>> expected = {{"none", 1},
                                                          {"relu", 1},
                                                          {"gelu", 0.8413447460685429},
                                                          {"gelu_tanh", 0.8411919906082768},
                                                          {"quick_gelu", 0.8457957659328212},
                                                          {"silu", 0.7310585786300049},
                                                          {"tanh", 0.7615941559557649},
                                                          {"relu6", 1},
                                                          {"hard_swish", 2 / 3.0},
                                                          {"mish", 0.8650983882673103}};
  for (auto &[name, value] : expected) {
    std::string text = "func.func @f(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {\n %w = "
                       "transformer.weight \"one\" : tensor<1x1xf32>\n"
                       " %y = transformer.linear %x, %w {activation = #transformer.activation<" +
                       name +
                       ">} : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>\n return %y : "
                       "tensor<1x1xf32> }";
    parse(text.c_str());
    expectNear(run("f", {{"arg0", f32({1, 1}, {1})}})[0].second, {value}, 1e-9);
  }
}

TEST_F(ReferenceTest, HeadsAreContiguousFeatures) {
  parse(R"(
func.func @f(%x: tensor<1x2x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x4xf32>) {
  %h = transformer.split_heads %x {heads = 2 : i64} : tensor<1x2x4xf32> -> tensor<1x2x2x2xf32>
  %m = transformer.merge_heads %h : tensor<1x2x2x2xf32> -> tensor<1x2x4xf32>
  return %h, %m : tensor<1x2x2x2xf32>, tensor<1x2x4xf32>
})");
  auto r = run("f", {{"arg0", f32({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}});
  EXPECT_THAT(r[0].second.values, ElementsAre(1, 2, 5, 6, 3, 4, 7, 8));
  EXPECT_THAT(r[1].second.values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

//===- Sessions, groups, errors ------------------------------------------===//

constexpr const char *caches = R"(
transformer.state @k {dims = ["B", 1, "P", 1], capacity = 3 : i64} : tensor<?x1x?x1xf32>
transformer.state @m {dims = ["B"]} : tensor<?xi32>
func.func @start(%m: tensor<?xi32> {transformer.name = "m"}) {
  transformer.state.set @m, %m : tensor<?xi32>
  transformer.cache.clear "P"
  return
}
func.func @step(%ids: tensor<?x?xi32> {transformer.name = "ids", transformer.dims = ["B", "T"]},
                %len: tensor<?xi32> {transformer.name = "len", transformer.default = {lengths_of = "ids", padding = 0 : i64}},
                %x: tensor<?x1x?x1xf32> {transformer.name = "x", transformer.dims = ["B", 1, "T", 1]})
    -> (tensor<?x1x?x1xf32> {transformer.name = "k"}, i32, tensor<?xi32>, tensor<?xi32>) {
  %k = transformer.cache.append @k, %x : tensor<?x1x?x1xf32> -> tensor<?x1x?x1xf32>
  %n = transformer.cache.length "P" : i32
  %m = transformer.state.get @m : tensor<?xi32>
  return %k, %n, %len, %m : tensor<?x1x?x1xf32>, i32, tensor<?xi32>, tensor<?xi32>
}
func.func @reorder(%p: tensor<?xi32>) {
  transformer.cache.reorder %p : tensor<?xi32>
  return
})";

TEST_F(ReferenceTest, CachesGrowReorderAndEmpty) {
  parse(caches);
  auto step = [&](std::vector<double> ids, std::vector<double> x) {
    int64_t b = ids.size();
    return run("step",
               {{"ids", i32({b, 1}, std::move(ids))}, {"x", f32({b, 1, 1, 1}, std::move(x))}});
  };
  run("start", {{"m", i32({2}, {70, 71})}});
  auto r = step({5, 5}, {1, 2});
  EXPECT_EQ(r[0].first, "k");
  EXPECT_THAT(r[1].second.values, ElementsAre(0));
  EXPECT_THAT(r[2].second.values, ElementsAre(1, 1));
  r = step({0, 5}, {3, 4});
  EXPECT_THAT(r[0].second.values, ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(r[1].second.values, ElementsAre(1));
  EXPECT_THAT(r[2].second.values, ElementsAre(0, 1)); // padding does not count
  run("reorder", {{"arg0", i32({3}, {1, 1, 0})}});
  r = step({5, 5, 0}, {5, 6, 7});
  EXPECT_THAT(r[0].second.values, ElementsAre(2, 4, 5, 2, 4, 6, 1, 3, 7));
  EXPECT_THAT(r[2].second.values, ElementsAre(1, 1, 0));
  EXPECT_THAT(r[3].second.values, ElementsAre(71, 71, 70));
  EXPECT_THAT(
      failure("step", {{"ids", i32({3, 1}, {1, 1, 1})}, {"x", f32({3, 1, 1, 1}, {0, 0, 0})}}),
      HasSubstr("P: expected at most 3 rows, found 4"));
  run("start", {{"m", i32({1}, {70})}});
  EXPECT_THAT(step({5}, {9})[0].second.values, ElementsAre(9));
}

TEST_F(ReferenceTest, GroupsRunInPlaceAndAreObserved) {
  parse(R"(
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = kernel.group(%x) "twice" {root = #kernel.root<elementwise>} : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    %s = arith.addf %a, %a : tensor<2xf32>
    %t = arith.addf %s, %a : tensor<2xf32>
    kernel.yield %t : tensor<2xf32>
  }
  %z = arith.mulf %y, %y : tensor<2xf32>
  return %z : tensor<2xf32>
})");
  std::vector<std::string> seen;
  auto observer = [&](mlir::Operation *op, std::span<const RefTensor *const> results) -> Status {
    seen.push_back(op->getName().getStringRef().str() + " " +
                   std::to_string(static_cast<int>(results[0]->values[1])));
    return {};
  };
  Expected<NamedRefTensors> results = reference->run("f", {{"arg0", f32({2}, {1, 2})}}, observer);
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_THAT(seen, ElementsAre("kernel.group 6", "arith.mulf 36"));
  auto stop = [](mlir::Operation *, std::span<const RefTensor *const>) -> Status {
    return deviceError("differs");
  };
  EXPECT_EQ(reference->run("f", {{"arg0", f32({2}, {1, 2})}}, stop).error().message, "differs");
}

TEST_F(ReferenceTest, InputsAreChecked) {
  parse(R"(
func.func @f(%a: tensor<?x2xi32> {transformer.name = "a", transformer.dims = ["B", 2], transformer.range = [0, 5]},
             %b: tensor<?xf32> {transformer.name = "b", transformer.dims = ["B"]}) -> tensor<?xf32> {
  return %b : tensor<?xf32>
})");
  RefTensor a = i32({1, 2}, {0, 4}), b = f32({1}, {1});
  EXPECT_EQ(run("f", {{"a", a}, {"b", b}}).size(), 1u);
  EXPECT_EQ(failure("g", {}), "g: expected a function of the module, found no such name");
  EXPECT_EQ(failure("f", {{"a", a}}), "b: expected an input, found none");
  EXPECT_EQ(failure("f", {{"a", a}, {"c", b}}), "c: expected an input of f, found another name");
  EXPECT_EQ(failure("f", {{"a", i32({1, 2}, {0, 5})}, {"b", b}}),
            "a: expected values in [0, 5), found 5");
  EXPECT_EQ(failure("f", {{"a", i32({1, 3}, {0, 1, 2})}, {"b", b}}),
            "a: expected tensor<?x2xi32>, found i32 [1, 3]");
  EXPECT_EQ(failure("f", {{"a", a}, {"b", f32({2}, {1, 2})}}),
            "b: expected B = 1 in dimension 0, found 2");
}

TEST_F(ReferenceTest, CallersSeePorts) {
  parse(R"(
func.func @f(%x: tensor<?x?x2xf32> {transformer.name = "x", transformer.dims = ["B", "S", 2], transformer.port = ["S", "B", 2]},
             %k: tensor<?x1x1x?xi1> {transformer.name = "k", transformer.dims = ["B", 1, 1, "S"], transformer.port = ["B", "S"]})
    -> (tensor<?x?x2xf32> {transformer.dims = ["B", "S", 2], transformer.port = ["S", "B", 2]}, tensor<?x?x2xf32>,
        tensor<?x1x1x?xi1> {transformer.dims = ["B", 1, 1, "S"], transformer.port = ["B", "S"]}) {
  return %x, %x, %k : tensor<?x?x2xf32>, tensor<?x?x2xf32>, tensor<?x1x1x?xi1>
})");
  RefTensor x = f32({3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  RefTensor k{DType::Bool, {2, 3}, {1, 0, 1, 0, 0, 1}};
  auto r = run("f", {{"x", x}, {"k", k}});
  EXPECT_EQ(r[0].second.shape, x.shape);
  EXPECT_EQ(r[0].second.values, x.values);
  EXPECT_THAT(r[1].second.shape, ElementsAre(2, 3, 2));
  EXPECT_THAT(r[1].second.values, ElementsAre(1, 2, 5, 6, 9, 10, 3, 4, 7, 8, 11, 12));
  EXPECT_EQ(r[2].second.shape, k.shape);
  EXPECT_EQ(failure("f", {{"x", x}, {"k", {DType::Bool, {2, 1, 3}, k.values}}}),
            "k: expected rank 2, found [2, 1, 3]");
}

} // namespace
