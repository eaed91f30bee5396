//===- ImportFixture.h - Test fixture for descriptions ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes a small description in one place and tests the result of its import.
#pragma once

#include "TemporaryFolder.h"

#include "heddle/Import/Import.h"

#include "mlir/IR/MLIRContext.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <nlohmann/json.hpp>

namespace heddle::test {

using Json = nlohmann::ordered_json;

class ImportTest : public testing::Test {
protected:
  ImportTest();

  /// Writes a file into the test's folder and returns its path.
  std::string write(const std::string &name, const std::string &text);
  Expected<ImportedModel> import(const std::string &path, const ImportOptions &options = {});
  Expected<ImportedModel> importJson(const Json &json, const ImportOptions &options = {});
  /// The error without the folder's path, or "no error".
  std::string problem(const Json &json, const ImportOptions &options = {});
  /// The small description with `value` at a JSON pointer such as "/attention/heads".
  std::string problemWith(const std::string &pointer, const Json &value);
  std::string withoutFolder(std::string text) const;
  /// The text of the module.
  static std::string textOf(ImportedModel &model);
  /// Expects no warnings of `twin`, and the module and the tensors of `model`, bit for bit.
  static void expectSameModel(ImportedModel &twin, ImportedModel &model);

  /// An encoder-decoder with two layers each, size 12 and ids as input.
  static Json small();

  TemporaryFolder temporary;
  std::string folder = temporary.path().string();
  mlir::MLIRContext context;
};

/// A safetensors file of zeros.
std::string safetensors(const std::vector<TensorInfo> &tensors);

} // namespace heddle::test
