//===- LinearModel.h - One linear as a model --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function with one linear and its checkpoint, compiled for an instruction set or for Vulkan in
// one of the types of --dtype, for tests against plain loops.
#pragma once

#include "Models.h"
#include "TemporaryFolder.h"
#include "heddle/Compiler/Compiler.h"
#include "heddle/Support/Artifact.h"

#include <fstream>

namespace heddle::test {

/// A matrix of numbers.
struct Matrix {
  int64_t rows, columns;
  std::vector<float> values;
  float &at(int64_t row, int64_t column) { return values[row * columns + column]; }
  /// Repeats `numbers` along row `row`, if the matrix has it.
  void fill(int64_t row, std::initializer_list<float> numbers) {
    for (int64_t k = 0; row < rows && k < columns; ++k)
      at(row, k) = numbers.begin()[k % numbers.size()];
  }
};

/// Numbers between -1 and 1 from a deterministic sequence.
inline Matrix numbers(int64_t rows, int64_t columns, uint32_t seed) {
  Matrix matrix{rows, columns, {}};
  for (int64_t i = 0; i < rows * columns; ++i) {
    seed = seed * 1664525u + 1013904223u;
    matrix.values.push_back(static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-31f);
  }
  return matrix;
}

/// y = activation(x * w^T + b).
struct LinearModel {
  Matrix input, weight, bias;
  std::string activation = "none"; ///< in the spelling of #transformer.activation

  LinearModel(int64_t rows, int64_t features, int64_t outputs)
      : input(numbers(rows, features, 1)), weight(numbers(outputs, features, 2)),
        bias(numbers(1, outputs, 3)) {}

  std::string text() const {
    auto type = [](const std::string &rows, int64_t columns) {
      return "tensor<" + rows + std::to_string(columns) + "xf32>";
    };
    std::string x = type("?x", input.columns), b = type("", weight.rows),
                w = type(std::to_string(weight.rows) + "x", input.columns),
                y = type("?x", weight.rows);
    return "func.func @run(%x: " + x + " {transformer.name = \"x\"}) -> (" + y +
           " {transformer.name = \"y\"}) {\n  %w = transformer.weight \"w\" : " + w +
           "\n  %b = transformer.weight \"b\" : " + b +
           "\n  %y = transformer.linear %x, %w bias(%b) {activation = #transformer.activation<" +
           activation + ">} : (" + x + ", " + w + ", " + b + ") -> " + y + "\n  return %y : " + y +
           "\n}\n";
  }

  void writeWeights(const std::string &path) const {
    size_t first = weight.values.size() * 4, second = bias.values.size() * 4;
    std::string rows = std::to_string(weight.rows);
    std::string header = R"({"w":{"dtype":"F32","shape":[)" + rows + "," +
                         std::to_string(weight.columns) + R"(],"data_offsets":[0,)" +
                         std::to_string(first) + R"(]},"b":{"dtype":"F32","shape":[)" + rows +
                         R"(],"data_offsets":[)" + std::to_string(first) + "," +
                         std::to_string(first + second) + "]}}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    uint64_t size = header.size();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char *>(&size), 8) << header;
    file.write(reinterpret_cast<const char *>(weight.values.data()), static_cast<int64_t>(first));
    file.write(reinterpret_cast<const char *>(bias.values.data()), static_cast<int64_t>(second));
  }

  /// Opens a session of the model's code for `target`: "vulkan" or an instruction set.
  Expected<Session> open(const std::string &dtype, const std::string &target) const {
    return open(dtype, target, text());
  }
  /// Opens a session of other code over the same weights.
  Expected<Session> open(const std::string &dtype, const std::string &target,
                         const std::string &code) const {
    Expected<Artifact> artifact = compile(dtype, target, code);
    if (!artifact)
      return artifact.takeError();
    return Session::fromArtifact(std::move(*artifact),
                                 {.device = target == "vulkan" ? "vulkan" : "cpu"});
  }

  Expected<Artifact> compile(const std::string &dtype, const std::string &target,
                             const std::string &code) const {
    TemporaryFolder folder;
    CompileOptions options;
    options.dtype = dtype;
    options.weights = folder / "weights.safetensors";
    writeWeights(options.weights);
    bool onCpu = target != "vulkan";
    options.targets = {onCpu ? "cpu" : "vulkan"};
    if (onCpu)
      options.cpus = {target};
    return compileToMemory(folder.write("linear.mlir", code), options);
  }

  /// Whether opening a session failed because this machine cannot run the code.
  static bool isMissing(const Error &error) {
    return isMissingDevice(error) || error.message.find("expected code for") != std::string::npos;
  }
};

/// Name of a target in a test's name.
inline std::string targetName(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

} // namespace heddle::test
