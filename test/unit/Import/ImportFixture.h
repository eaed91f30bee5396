//===- ImportFixture.h - Descriptions written for a test -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test changes a small description in one place and looks at what import says.
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

  /// Writes a file into the test's own folder and returns its path.
  std::string write(const std::string &name, const std::string &text);
  Expected<ImportedModel> import(const std::string &path, const ImportOptions &options = {});
  Expected<ImportedModel> importJson(const Json &json, const ImportOptions &options = {});
  /// The error without the folder's path; "no error".
  std::string problem(const Json &json, const ImportOptions &options = {});
  /// The small description with `value` at a JSON pointer such as "/attention/heads".
  std::string problemWith(const std::string &pointer, const Json &value);
  std::string withoutFolder(std::string text) const;
  /// The module's text.
  static std::string textOf(ImportedModel &model);

  /// Two layers each, size 12, ids in.
  static Json small();

  TemporaryFolder temporary;
  std::string folder = temporary.path().string();
  mlir::MLIRContext context;
};

/// A safetensors file of zeros.
std::string safetensors(const std::vector<TensorInfo> &tensors);

} // namespace heddle::test
