//===- Models.h - Artifacts, goldens and comparisons --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of the integration tests: paths of the artifacts that the full build wrote
// (HEDDLE_TEST_ARTIFACTS names them for a build without LLVM), goldens as named tensors, slices of
// them, and the two comparisons, within a tolerance and bit by bit.
#pragma once

#include "heddle/Runtime/Session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

namespace heddle::test {

using Tensors = std::map<std::string, Tensor>;

/// The folder of artifacts; none if this build cannot have any.
std::optional<std::filesystem::path> artifactFolder();

/// Opens `model`.heddle on a device.
Expected<Session> openArtifact(const std::string &model, const SessionOptions &options);

/// Reads the .npy files of a folder, by name.
Expected<Tensors> readTensors(const std::filesystem::path &folder);

/// A case of test/data/goldens.
struct Golden {
  Tensors inputs, encode, decode, loss;
  bool sequenceFirst = false;

  static Expected<Golden> read(const std::string &name);
  /// Axes of a tensor; they are transposed in the five tensors that `layout` names.
  size_t batchAxis(std::string_view tensor) const;
  size_t timeAxis(std::string_view tensor) const { return 1 - batchAxis(tensor); }
};

/// Elements [begin, end) of an axis.
Tensor slice(const Tensor &tensor, size_t axis, int64_t begin, int64_t end);

/// Entries of an axis, in the order of `indices`.
Tensor gather(const Tensor &tensor, size_t axis, const std::vector<int32_t> &indices);

/// Whether a device cannot be opened because the machine lacks it; the test is then skipped.
bool isMissingDevice(const Error &error);
/// Whether a session cannot be opened because there is no device, or none of the level.
inline bool isMissingLevel(const Error &error) {
  return isMissingDevice(error) || error.message.find("expected a level of 0") != std::string::npos;
}

/// Runs a function with the tensors in `tensors` that it takes.
Expected<Tensors> call(Session &session, const std::string &function, const Tensors &tensors);

/// max |a - b| / max |b|; infinite if shapes differ or a value is NaN.
double difference(const Tensor &found, const Tensor &expected);

/// Whether all outputs are equal bit by bit.
testing::AssertionResult sameBits(const Tensor &found, const Tensor &expected);
testing::AssertionResult sameBits(const Tensors &found, const Tensors &expected);

} // namespace heddle::test

/// Evaluates an Expected; on an error, fails the test with its message.
#define HEDDLE_ASSERT(name, expression)                                                            \
  auto name##OrError = (expression);                                                               \
  ASSERT_TRUE(name##OrError) << name##OrError.error().message;                                     \
  auto &name = *name##OrError
