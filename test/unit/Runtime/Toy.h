//===- Toy.h - A hand-written model -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program of two kernels that add and accumulate, with caches, defaults and
// checks. It covers all features of a session on both devices.
#pragma once

#include "ScopedVariable.h"
#include "heddle/Runtime/Session.h"
#include "heddle/Support/Artifact.h"

#include <gtest/gtest.h>

namespace heddle::test {

/// triple(x [B, T, 20]) -> y = 3x; count(ids [B, S][, lengths]) -> lengths;
/// start(x [B, 16]) sets P = 0; step(x [B, 1, 16][, lengths]) -> y = sum so far, lengths;
/// reorder(parents [N]).
Program toyProgram();
/// fill(x [B, 2, S, 16][, rows]) sets the state `memory` to 2x, show() -> y = 2 memory;
/// permute(parents [N]).
Program memoryProgram();
/// The program with code for both devices.
Artifact toyArtifact(Program program = toyProgram());

/// A shared object, compiled from a C file by the system's compiler.
std::vector<char> compileC(const std::string &path);
/// SPIR-V of a kernel that the build has compiled; empty without glslangValidator.
std::vector<uint32_t> readSpirv(const std::string &kernel);

/// Whether tests can run on Vulkan. Enables the validation layer if it is installed.
bool hasVulkan();

template <typename T>
std::vector<T> valuesOf(const Tensor &tensor) {
  auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

/// A tensor that counts up from `first` in steps of `step`.
Tensor counting(std::vector<int64_t> shape, float first = 0, float step = 1);
inline Tensor ints(std::vector<int64_t> shape, std::vector<int32_t> values) {
  return Tensor::i32(std::move(shape), values);
}

/// Tests that run on each device. Vulkan tests are skipped if there is no device.
class DeviceTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override;
  Session open(SessionOptions options = {}, Program program = toyProgram());
};
#define INSTANTIATE_ON_DEVICES(Suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite, testing::Values("cpu", "vulkan"),                       \
                           [](const auto &info) { return info.param; })

} // namespace heddle::test
