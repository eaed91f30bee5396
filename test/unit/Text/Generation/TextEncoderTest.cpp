//===- TextEncoderTest.cpp - Vectors and their similarity ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Generation/TextEncoder.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;

TEST(Cosine, OfVectors) {
  const std::vector<float> a = {3, 4}, b = {4, 3}, turned = {-8, 6}, none = {0, 0}, empty;
  EXPECT_DOUBLE_EQ(cosine(a, a), 1);
  EXPECT_DOUBLE_EQ(cosine(a, b), 0.96);
  EXPECT_DOUBLE_EQ(cosine(a, turned), 0);
  EXPECT_EQ(cosine(a, none), 0);
  EXPECT_TRUE(std::isnan(cosine(a, empty)));
  EXPECT_TRUE(std::isnan(cosine(empty, empty)));
}

TEST(Softmax, KeepsItsSumAndNaN) {
  const std::vector<float> logits = {1, 2, -INFINITY}, bad = {1, NAN};
  const std::vector<double> values = softmax(logits);
  EXPECT_DOUBLE_EQ(values[0] + values[1], 1);
  EXPECT_EQ(values[2], 0);
  EXPECT_TRUE(std::isnan(softmax(bad)[0]));
  EXPECT_TRUE(softmax({}).empty());
}
