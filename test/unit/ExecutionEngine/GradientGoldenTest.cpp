//===- GradientGoldenTest.cpp - Gradients of models -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the function `gradients` of whole models in the reference against PyTorch's gradients of
// the same descriptions (test/data/goldens/make_gradients.py), without dropout and with it.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"
#include "heddle/ExecutionEngine/Reference.h"
#include "heddle/Import/Import.h"
#include "heddle/Pack/Safetensors.h"
#include "heddle/Runtime/Npy.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

namespace {

const fs::path goldens = fs::path(HEDDLE_SOURCE_DIR) / "test" / "data" / "goldens" / "training";

std::vector<std::string> caseNames() {
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(goldens))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

RefTensor tensorOf(const fs::path &file) {
  Expected<Tensor> tensor = readNpy(file.string());
  EXPECT_TRUE(tensor) << (tensor ? "" : tensor.error().message);
  RefTensor result;
  if (!tensor)
    return result;
  result.shape.assign(tensor->shape().begin(), tensor->shape().end());
  result.type = tensor->dtype();
  if (result.type == DType::F32)
    result.values.assign(tensor->values<float>().begin(), tensor->values<float>().end());
  else
    result.values.assign(tensor->values<int32_t>().begin(), tensor->values<int32_t>().end());
  return result;
}

std::vector<float> tensorOf(const WeightSource &source, const std::string &name) {
  int index = source.find(name);
  EXPECT_GE(index, 0) << name;
  if (index < 0)
    return {};
  std::vector<float> values(source.tensors()[index].elements());
  source.read(index, 0, values);
  return values;
}

class GradientGoldenTest : public ::testing::TestWithParam<std::string> {
protected:
  /// Runs `gradients` and compares it with the folder `golden` of the case.
  void expectGolden(const std::string &golden, bool drops);
};

/// Name of the layer's part that a tensor belongs to: the gradient of a key's bias is zero but for
/// rounding, so it is compared with the largest gradient of its part.
std::string partOf(const std::string &name) {
  std::string part = name.substr(0, name.rfind('.'));
  return part.find(".key") == std::string::npos ? name : part.substr(0, part.rfind('.'));
}

void GradientGoldenTest::expectGolden(const std::string &golden, bool drops) {
  const fs::path folder = goldens / GetParam();
  if (!fs::exists(folder / golden))
    GTEST_SKIP() << "the case has no dropout";
  mlir::MLIRContext context;
  context.loadDialect<transformer::TransformerDialect, mlir::arith::ArithDialect,
                      mlir::func::FuncDialect, mlir::tensor::TensorDialect>();
  ImportOptions options;
  options.training = true;
  Expected<ImportedModel> model = importModel(folder.string(), options, context);
  ASSERT_TRUE(model) << model.error().message;
  mlir::PassManager pm(&context);
  pm.addPass(transformer::createLowerConvolutions());
  pm.addPass(transformer::createDifferentiate());
  ASSERT_TRUE(succeeded(pm.run(*model->module)));

  const WeightSource &weights = *model->weights;
  Reference reference(*model->module,
                      [&](const std::string &name, DType) -> Expected<ReferenceValues> {
                        return ReferenceValues{tensorOf(weights, name)};
                      });
  NamedRefTensors inputs;
  int64_t batch = 0;
  for (const auto &entry : fs::directory_iterator(folder / "inputs")) {
    inputs.emplace_back(entry.path().stem().string(), tensorOf(entry.path()));
    batch = inputs.back().second.shape.front();
  }
  auto gradients = model->module->lookupSymbol<mlir::func::FuncOp>("gradients");
  if (std::string last = "dropout.examples";
      gradients.getArgAttr(gradients.getNumArguments() - 1, "transformer.name") ==
      mlir::StringAttr::get(&context, last)) {
    inputs.push_back({"dropout.key", {DType::I32, {3}, {20170612, 3, drops ? 1.0 : 0.0}}});
    RefTensor examples{DType::I32, {batch}, {}};
    for (int64_t b = 0; b < batch; ++b)
      examples.values.push_back(static_cast<double>(b));
    inputs.push_back({last, examples});
  }
  Expected<NamedRefTensors> results = reference.run("gradients", inputs);
  ASSERT_TRUE(results) << results.error().message;
  for (const auto &[name, value] : *results) {
    double expected = tensorOf(folder / golden / (name + ".npy")).values.front();
    EXPECT_NEAR(value.values.front(), expected, 1e-6 * std::abs(expected)) << name;
  }

  auto source = openSafetensors((folder / golden / "gradients.safetensors").string());
  ASSERT_TRUE(source) << source.error().message;
  const NamedRefTensors found = reference.gradients();
  std::map<std::string, double> largest;
  for (const auto &[name, gradient] : found)
    for (double value : gradient.values)
      for (const std::string &part : {name, partOf(name), name.substr(0, name.find_last_of('.'))})
        largest[part] = std::max(largest[part], std::abs(value));
  EXPECT_EQ(found.size(), (*source)->tensors().size());
  for (const auto &[name, gradient] : found) {
    std::vector<float> expected = tensorOf(**source, name);
    ASSERT_EQ(expected.size(), gradient.values.size()) << name;
    double tolerance = 1e-6 * std::max(largest[name], largest[partOf(name)]);
    for (size_t n = 0; n < expected.size(); ++n)
      ASSERT_NEAR(gradient.values[n], expected[n], tolerance) << name << " " << n;
  }
}

TEST_P(GradientGoldenTest, WithoutDropout) { expectGolden("gradients", /*drops=*/false); }
TEST_P(GradientGoldenTest, WithDropout) { expectGolden("gradients-dropout", /*drops=*/true); }

std::string titleOf(const ::testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Descriptions, GradientGoldenTest, ::testing::ValuesIn(caseNames()),
                         titleOf);

} // namespace
