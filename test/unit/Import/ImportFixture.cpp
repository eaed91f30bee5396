//===- ImportFixture.cpp - Test fixture for descriptions ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imports descriptions from a temporary folder of the test.

#include "ImportFixture.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Verifier.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace heddle;
using namespace heddle::test;
namespace fs = std::filesystem;

ImportTest::ImportTest() {
  context.loadDialect<transformer::TransformerDialect, mlir::arith::ArithDialect,
                      mlir::func::FuncDialect>();
}

std::string ImportTest::write(const std::string &name, const std::string &text) {
  return temporary.write(name, text);
}

/// Imports a model and expects that its module verifies.
Expected<ImportedModel> ImportTest::import(const std::string &path, const ImportOptions &options) {
  auto model = importModel(path, options, context);
  EXPECT_TRUE(!model || mlir::succeeded(mlir::verify(*model->module)));
  return model;
}

Expected<ImportedModel> ImportTest::importJson(const Json &json, const ImportOptions &options) {
  return import(write("m.json", json.dump(1)), options);
}

std::string ImportTest::withoutFolder(std::string text) const {
  for (size_t at; (at = text.find(folder + "/")) != std::string::npos;)
    text.erase(at, folder.size() + 1);
  return text;
}

std::string ImportTest::problem(const Json &json, const ImportOptions &options) {
  auto model = importJson(json, options);
  return model ? "no error" : withoutFolder(model.error().message);
}

std::string ImportTest::problemWith(const std::string &pointer, const Json &value) {
  Json json = small();
  json[Json::json_pointer(pointer)] = value;
  return problem(json);
}

std::string ImportTest::textOf(ImportedModel &model) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  model.module->print(stream);
  return text;
}

void ImportTest::expectSameModel(ImportedModel &twin, ImportedModel &model) {
  EXPECT_THAT(twin.warnings, testing::IsEmpty());
  EXPECT_EQ(textOf(twin), textOf(model));
  ASSERT_EQ(twin.tensors.size(), model.tensors.size());
  for (const TensorInfo &tensor : model.tensors) {
    std::vector<float> expected(tensor.elements()), found(tensor.elements());
    const int index = twin.weights->find(tensor.name);
    ASSERT_GE(index, 0) << tensor.name;
    model.weights->read(model.weights->find(tensor.name), 0, expected);
    twin.weights->read(index, 0, found);
    EXPECT_EQ(found, expected) << tensor.name;
  }
}

Json ImportTest::small() {
  return Json::parse(R"json({
    "heddle": 1, "kind": "encoder-decoder", "size": 12, "weights": {"seed": 1},
    "source": {"vocabulary": 20}, "target": {"vocabulary": 30},
    "attention": {"heads": 3}, "ffn": {"size": 16},
    "encoder": {"layers": 2, "mask": "lengths(source)"},
    "decoder": {"layers": 2, "mask": "causal & lengths(target)", "cross-mask": "lengths(source)"}
})json");
}

std::string heddle::test::safetensors(const std::vector<TensorInfo> &tensors) {
  Json header = Json::object();
  int64_t offset = 0;
  for (const TensorInfo &tensor : tensors) {
    bool isHalf = tensor.type == "f16" || tensor.type == "bf16";
    int64_t bytes = tensor.elements() * (isHalf ? 2 : 4);
    std::string type = tensor.type;
    std::ranges::transform(type, type.begin(), ::toupper);
    header[tensor.name] = {
        {"dtype", type}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump(), size(8, '\0');
  for (int i = 0; i < 8; ++i)
    size[i] = static_cast<char>(text.size() >> (8 * i));
  return size + text + std::string(offset, '\0');
}
