//===- PositionTest.cpp - Effect of positions on attention ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention does not depend on the order of its keys: without positions a permuted input gives the
// permuted output, even if a constant vector is added everywhere. Sinusoids break this symmetry.
#include "Models.h"
#include "TemporaryFolder.h"
#include "heddle/ExecutionEngine/Jit.h"

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t length = 6, size = 24;
const std::vector<int32_t> permutation = {3, 0, 5, 1, 4, 2};

/// An encoder of one layer on vectors; `position` is the value of the key "position".
Expected<Session> encoder(const std::string &position) {
  TemporaryFolder folder;
  return jit(folder.write(
      "model.json",
      R"({"heddle": 1, "kind": "encoder", "size": 24, "weights": {"seed": 1},
    "source": {"vocabulary": null}, "position": )" +
          position +
          R"(, "attention": {"heads": 3}, "ffn": {"size": 32}, "encoder": {"layers": 1}})"));
}

/// Vectors of a sequence, with `constant` added to all elements.
Tensor sequence(float constant) {
  std::vector<float> values;
  for (int64_t i = 0; i < length * size; ++i)
    values.push_back(static_cast<float>(i * 37 % 101) / 50.0f - 1.0f + constant);
  return Tensor::f32({1, length, size}, values);
}

/// Difference between the output of the permuted input and the permuted output.
double order(Session &session, float constant) {
  const Tensor input = sequence(constant);
  auto straight = call(session, "encode", {{"source", input}});
  auto permuted = call(session, "encode", {{"source", gather(input, 1, permutation)}});
  EXPECT_TRUE(straight && permuted);
  return straight && permuted
             ? difference(permuted->at("output"), gather(straight->at("output"), 1, permutation))
             : -1;
}

TEST(Positions, WithoutThemOrderIsLost) {
  HEDDLE_ASSERT(session, encoder("null"));
  EXPECT_LE(order(session, 0.0f), 1e-5);
}

TEST(Positions, AConstantVectorKeepsNoOrder) {
  HEDDLE_ASSERT(session, encoder("null"));
  EXPECT_LE(order(session, 0.75f), 1e-5);
}

TEST(Positions, SinusoidsKeepOrder) {
  HEDDLE_ASSERT(session, encoder(R"({"kind": "sinusoidal"})"));
  EXPECT_GE(order(session, 0.0f), 1e-2);
}

} // namespace
