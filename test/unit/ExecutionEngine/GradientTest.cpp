//===- GradientTest.cpp - Derivatives against differences -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the derivative of every op: the gradients of a loss, which the reference computes in f64,
// against differences of the loss. An op with a derivative and without a case fails the last test.

#include "ReferenceDropout.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"
#include "heddle/ExecutionEngine/Reference.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"
#include "gmock/gmock.h"

#include <cmath>
#include <random>

using namespace heddle;
using namespace mlir;

namespace {

/// A loss with a name, the ops of its body, and the dimensions of its logits.
struct Case {
  std::string name;
  /// Ops that compute %y from the arguments: %ids, %types, %lengths and %starts.
  std::string body;
  std::string logits = "2x3x5"; ///< static shape of %y, whose last dimension is the classes
  std::string loss;             ///< attributes of the loss
};

std::ostream &operator<<(std::ostream &os, const Case &c) { return os << c.name; }

std::string rowsOf(const std::string &shape) { return shape.substr(0, shape.rfind('x')); }

/// %x, rows of 8 features that depend on a weight.
const std::string rows = R"(
  %table = transformer.weight "table" : tensor<7x8xf32>
  %x = transformer.embedding %ids, %table {padding_id = 1 : i64, scale = 1.5 : f32} : (tensor<2x3xi32>, tensor<7x8xf32>) -> tensor<2x3x8xf32>
)";
/// %y from %z, rows of 8 features.
const std::string classes = R"(
  %c = transformer.weight "classes" : tensor<5x8xf32>
  %y = transformer.linear %z, %c : (tensor<2x3x8xf32>, tensor<5x8xf32>) -> tensor<2x3x5xf32>
)";

std::string matrix(const std::string &name, const std::string &from, const std::string &shape,
                   const std::string &matrixShape, const std::string &attributes = "") {
  std::string in = rowsOf(shape) + "x8";
  return "%" + name + "_w = transformer.weight \"" + name + "\" : tensor<" + matrixShape +
         "xf32>\n%" + name + " = transformer.linear %" + from + ", %" + name + "_w " + attributes +
         " : (tensor<" + in + "xf32>, tensor<" + matrixShape + "xf32>) -> tensor<" + shape +
         "xf32>\n";
}

/// An attention of 4 heads with 2 features over 2 heads of keys. `rules` are its clauses.
Case attention(const std::string &name, const std::string &before, const std::string &rules,
               const std::string &attributes = "") {
  std::string body = rows + matrix("q", "x", "2x3x8", "8x8") + matrix("k", "x", "2x3x4", "4x8") +
                     matrix("v", "x", "2x3x4", "4x8") + R"(
  %qh = transformer.split_heads %q {heads = 4 : i64} : tensor<2x3x8xf32> -> tensor<2x4x3x2xf32>
  %kh = transformer.split_heads %k {heads = 2 : i64} : tensor<2x3x4xf32> -> tensor<2x2x3x2xf32>
  %vh = transformer.split_heads %v {heads = 2 : i64} : tensor<2x3x4xf32> -> tensor<2x2x3x2xf32>
)" + before + "%o = transformer.attention %qh, %kh, %vh " +
                     rules + " {scale = 0.75 : f32" + attributes + R"(}
    : (tensor<2x4x3x2xf32>, tensor<2x2x3x2xf32>, tensor<2x2x3x2xf32>) -> tensor<2x4x3x2xf32>
  %z = transformer.merge_heads %o : tensor<2x4x3x2xf32> -> tensor<2x3x8xf32>
)" + classes;
  return {name, body};
}

std::vector<Case> cases() {
  std::vector<Case> list;
  auto add = [&](const std::string &name, const std::string &body) {
    list.push_back({name, rows + body + classes});
  };
  add("linear", "%b = transformer.weight \"b\" : tensor<8xf32>\n" +
                    matrix("h", "x", "2x3x8", "8x8") +
                    "%z = transformer.linear %h, %h_w bias(%b) : (tensor<2x3x8xf32>, "
                    "tensor<8x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>\n");
  add("several_readers", matrix("h", "x", "2x3x8", "8x8") +
                             "%s = arith.addf %h, %x : tensor<2x3x8xf32>\n"
                             "%z = arith.mulf %s, %h : tensor<2x3x8xf32>\n");
  for (uint32_t i = 0; i <= transformer::getMaxEnumValForActivation(); ++i) {
    std::string word = stringifyActivation(static_cast<transformer::Activation>(i)).str();
    add("activation_" + word,
        matrix("z", "x", "2x3x8", "8x8", "{activation = #transformer.activation<" + word + ">}"));
  }
  add("ffn", R"(
  %w1 = transformer.weight "w1" : tensor<6x8xf32>
  %w2 = transformer.weight "w2" : tensor<8x6xf32>
  %w3 = transformer.weight "w3" : tensor<6x8xf32>
  %z = transformer.ffn %x in(%w1) out(%w2) gate(%w3) {activation = #transformer.activation<silu>}
    : (tensor<2x3x8xf32>, tensor<6x8xf32>, tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<2x3x8xf32>
)");
  for (const char *limits : {"", ", limit = 0.25 : f32, offset = 1.0 : f32"})
    add(std::string("gate") + (*limits ? "_limited" : ""),
        matrix("g", "x", "2x3x8", "8x8") + matrix("u", "x", "2x3x8", "8x8") +
            "%z = transformer.gate %g, %u {activation = #transformer.activation<silu>" + limits +
            "} : tensor<2x3x8xf32>\n");
  add("gate_of_itself",
      matrix("g", "x", "2x3x8", "8x8") +
          "%z = transformer.gate %g, %g {activation = #transformer.activation<silu>} : "
          "tensor<2x3x8xf32>\n");
  add("softcap", matrix("h", "x", "2x3x8", "8x8") +
                     "%z = transformer.softcap %h {cap = 0.5 : f32} : tensor<2x3x8xf32>\n");
  add("scale", matrix("h", "x", "2x3x8", "8x8") +
                   "%z = transformer.scale %h {factor = 0.5 : f32} : tensor<2x3x8xf32>\n");
  const std::string gamma = "%g = transformer.weight \"gamma\" : tensor<8xf32>\n",
                    beta = "%b = transformer.weight \"beta\" : tensor<8xf32>\n";
  for (const char *root : {"", ", root = false"})
    add(std::string("layer_norm") + (*root ? "_variance" : ""),
        gamma + beta + "%z = transformer.layer_norm %x, %g, %b {epsilon = 0.1 : f32" + root +
            "} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>\n");
  add("rms_norm", gamma + "%z = transformer.rms_norm %x, %g {epsilon = 0.1 : f32} : "
                          "(tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>\n");
  add("norm_of_heads", R"(
  %g = transformer.weight "gamma" : tensor<4x2xf32>
  %b = transformer.weight "beta" : tensor<4x2xf32>
  %h = transformer.split_heads %x {heads = 4 : i64} : tensor<2x3x8xf32> -> tensor<2x4x3x2xf32>
  %n = transformer.layer_norm %h, %g, %b {epsilon = 0.1 : f32} : (tensor<2x4x3x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<2x4x3x2xf32>
  %z = transformer.merge_heads %n : tensor<2x4x3x2xf32> -> tensor<2x3x8xf32>
)");
  add("normalize", "%z = transformer.normalize %x : tensor<2x3x8xf32>\n");
  add("normalize_short",
      "%z = transformer.normalize %x {epsilon = 100.0 : f32} : tensor<2x3x8xf32>\n");
  add("position_sinusoidal",
      "%z = transformer.position.sinusoidal %x {scale = 0.5 : f32} : tensor<2x3x8xf32>\n");
  add("position_learned", "%p = transformer.weight \"positions\" : tensor<4x8xf32>\n"
                          "%z = transformer.position.learned %x, %p {scale = 0.5 : f32} : "
                          "tensor<2x3x8xf32>, tensor<4x8xf32>\n");
  add("rotary", R"(
  %h = transformer.split_heads %x {heads = 2 : i64} : tensor<2x3x8xf32> -> tensor<2x2x3x4xf32>
  %r = transformer.rotary %h {fraction = 0.5 : f64, frequencies = array<f64: 0.75>, magnitude = 1.25 : f64} : tensor<2x2x3x4xf32>
  %s = transformer.rotary %r : tensor<2x2x3x4xf32>
  %z = transformer.merge_heads %s : tensor<2x2x3x4xf32> -> tensor<2x3x8xf32>
)");
  add("dropout", matrix("h", "x", "2x3x8", "8x8") +
                     "%z = transformer.dropout %h {probability = 0.5 : f32} : tensor<2x3x8xf32>\n");
  list.push_back({"tied_table",
                  rows + "%y = transformer.linear %x, %table : (tensor<2x3x8xf32>, "
                         "tensor<7x8xf32>) -> tensor<2x3x7xf32>\n",
                  "2x3x7"});
  for (const char *word : {"cls", "mean", "last", "max", "weighted_mean", "mean_sqrt", "sum"})
    list.push_back({std::string("pool_") + word,
                    rows +
                        "%p = transformer.pool %x lengths(%lengths : "
                        "tensor<2xi32>) {kinds = [#transformer.pooling<" +
                        word + ">]} : tensor<2x3x8xf32> -> tensor<2x8xf32>\n" +
                        matrix("y", "p", "2x5", "5x8"),
                    "2x5"});
  list.push_back({"pool_several", rows + R"(
  %p = transformer.pool %x {kinds = [#transformer.pooling<mean>, #transformer.pooling<max>]} : tensor<2x3x8xf32> -> tensor<2x16xf32>
  %c = transformer.weight "classes" : tensor<5x16xf32>
  %y = transformer.linear %p, %c : (tensor<2x16xf32>, tensor<5x16xf32>) -> tensor<2x5xf32>
)",
                  "2x5"});
  list.push_back(attention("attention", "", ""));
  list.push_back(attention("attention_causal", "%m = transformer.mask.causal\n", "mask(%m)"));
  list.push_back(attention("attention_lengths",
                           "%m = transformer.mask.lengths %lengths : tensor<2xi32>\n", "mask(%m)"));
  list.push_back(attention("attention_softcap", "%m = transformer.mask.causal\n", "mask(%m)",
                           ", softcap = 0.5 : f32"));
  list.push_back(attention("attention_hidden_score", "%m = transformer.mask.causal\n", "mask(%m)",
                           ", hidden_score = -0.5 : f32"));
  list.push_back(attention("attention_alibi", "%b = transformer.bias.alibi\n", "bias(%b)"));
  list.push_back(attention("attention_dropout", "%m = transformer.mask.causal\n", "mask(%m)",
                           ", dropout = 0.5 : f32"));
  list.push_back(attention("attention_nothing_allowed", R"(
  %m = transformer.mask.window before = 0 after = 1
  %later = transformer.mask.causal
  %n = transformer.mask.not %later
  %a = transformer.mask.and %m, %n
)",
                           "mask(%a)"));
  list.push_back({"smoothing_all", rows + matrix("y", "x", "2x3x5", "5x8"), "2x3x5",
                  ", smoothing = 0.25 : f32"});
  list.push_back({"smoothing_others", rows + matrix("y", "x", "2x3x5", "5x8"), "2x3x5",
                  ", smoothing = 0.25 : f32, over = #transformer.smoothing_over<others>"});
  list.push_back(
      {"smoothing_others_but_padding", rows + matrix("y", "x", "2x3x5", "5x8"), "2x3x5",
       ", smoothing = 0.25 : f32, over = #transformer.smoothing_over<others_but_padding>"});
  return list;
}

std::string moduleOf(const Case &c) {
  std::string logits = "tensor<" + c.logits + "xf32>",
              targets = "tensor<" + rowsOf(c.logits) + "xi32>";
  return "func.func @loss(%ids: tensor<2x3xi32> {transformer.name = \"ids\"}, %lengths: "
         "tensor<2xi32> {transformer.name = \"lengths\"}, %target: " +
         targets +
         " {transformer.name = \"target\"}) -> (tensor<1xf32> {transformer.name = \"loss\"}) {" +
         c.body + "%l = transformer.cross_entropy %y, %target {padding_id = 0 : i64" + c.loss +
         "} : (" + logits + ", " + targets + ") -> tensor<1xf32>\nreturn %l : tensor<1xf32>\n}";
}

/// A parsed loss with its gradients, and weights that are multiples of 2^-10.
class Model {
public:
  Model(MLIRContext &context, const Case &c)
      : shape(c.logits), hasDropout(c.body.find("dropout") != std::string::npos) {
    module = parseSourceString<ModuleOp>(moduleOf(c), &context);
    EXPECT_TRUE(module) << moduleOf(c);
    if (!module)
      return;
    module->walk([&](transformer::WeightOp op) {
      auto &values = weights[op.getName().str()];
      if (values.empty())
        for (int64_t n = 0; n < op.getType().getNumElements(); ++n)
          values.push_back(std::floor(1024 * normal(random)) / 1024);
    });
    PassManager pm(&context);
    pm.addPass(transformer::createDifferentiate());
    passed = succeeded(pm.run(*module));
  }

  /// Runs `gradients`, and returns its sum of losses.
  double run(NamedRefTensors *gradients = nullptr) {
    Reference reference(*module,
                        [this](const std::string &name, DType) -> Expected<ReferenceValues> {
                          return ReferenceValues{weights.at(name)};
                        });
    std::vector<int64_t> rows =
        shape == "2x5" ? std::vector<int64_t>{2} : std::vector<int64_t>{2, 3};
    std::vector<double> target =
        shape == "2x5" ? std::vector<double>{2, 4} : std::vector<double>{1, 0, 3, 4, 2, 1};
    NamedRefTensors inputs{{"ids", {DType::I32, {2, 3}, {2, 5, 1, 3, 2, 6}}},
                           {"lengths", {DType::I32, {2}, {3, 2}}},
                           {"target", {DType::I32, rows, target}}};
    if (hasDropout) {
      inputs.push_back({"dropout.key", {DType::I32, {3}, {7, 3, 1}}});
      inputs.push_back({"dropout.examples", {DType::I32, {2}, {5, 9}}});
    }
    Expected<NamedRefTensors> results = reference.run("gradients", inputs);
    EXPECT_TRUE(results) << (results ? "" : results.error().message);
    if (!results)
      return NAN;
    if (gradients)
      *gradients = reference.gradients();
    return results->front().second.values.front();
  }

  /// The derivative of the loss with respect to one number, from four differences.
  double difference(float &number) {
    const float step = 0x1p-13F, value = number;
    auto at = [&](float offset) {
      number = value + offset;
      return run();
    };
    double near = at(step) - at(-step), far = at(2 * step) - at(-2 * step);
    number = value;
    return (8 * near - far) / (12 * step);
  }

  OwningOpRef<ModuleOp> module;
  std::map<std::string, std::vector<float>> weights;
  bool passed = false;

private:
  std::string shape;
  bool hasDropout;
  std::mt19937 random{7};
  std::normal_distribution<float> normal{0, 0.75F};
};

class GradientTest : public ::testing::TestWithParam<Case> {
protected:
  GradientTest() {
    context.loadDialect<transformer::TransformerDialect, arith::ArithDialect, func::FuncDialect>();
  }
  MLIRContext context;
};

TEST_P(GradientTest, EqualsDifferences) {
  Model model(context, GetParam());
  ASSERT_TRUE(model.passed);
  NamedRefTensors gradients;
  model.run(&gradients);
  EXPECT_EQ(gradients.size(), model.weights.size());
  for (const auto &[name, gradient] : gradients) {
    std::vector<float> &weight = model.weights.at(name);
    ASSERT_EQ(gradient.values.size(), weight.size()) << name;
    double largest = 1e-3;
    for (double value : gradient.values)
      largest = std::max(largest, std::abs(value));
    for (size_t n = 0; n < weight.size(); n += 3)
      EXPECT_NEAR(gradient.values[n], model.difference(weight[n]), 1e-6 * largest)
          << name << " " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, GradientTest, ::testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.name; });

/// Every op with a derivative has a case.
TEST_F(GradientTest, CoversAllOps) {
  llvm::StringSet<> seen;
  for (const Case &c : cases()) {
    Model model(context, c);
    model.module->walk([&](Operation *op) { seen.insert(op->getName().getStringRef()); });
  }
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<transformer::DifferentiableOpInterface>())
      EXPECT_TRUE(seen.contains(name.getStringRef())) << name.getStringRef().str();
}

} // namespace
