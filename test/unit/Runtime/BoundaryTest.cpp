//===- BoundaryTest.cpp - Copies between callers and planned memory ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests groups and padding, conversions of elements, and the table of sines.
#include "Boundary.h"

#include "Toy.h"

using namespace heddle;
using namespace heddle::test;

static Port portOf(DType type, int64_t group, bool dense = false) {
  Port port;
  port.name = "x";
  port.type = type;
  port.group = group;
  port.dense = dense;
  return port;
}

TEST(Boundary, GroupsArePaddedOneByOne) {
  Tensor tensor = counting({2, 6}, 1);
  auto form = rowForm(portOf(DType::F32, 3), tensor.shape());
  ASSERT_TRUE(form);
  ASSERT_EQ(form->elements(), 2 * 2 * 16);
  std::vector<uint32_t> memory(64, 0xffffffff);
  packTensor(tensor, *form, memory.data());
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t i = 0; i < 32; ++i) {
      float expected = i % 16 < 3 ? static_cast<float>(1 + row * 6 + i / 16 * 3 + i % 16) : 0;
      EXPECT_EQ(std::bit_cast<float>(memory[static_cast<size_t>(row * 32 + i)]), expected);
    }
  Tensor back(DType::F32, {2, 6});
  unpackTensor(memory.data(), *form, back);
  EXPECT_EQ(valuesOf<float>(back), valuesOf<float>(tensor));
}

TEST(Boundary, VectorsAndIntegersAreDense) {
  int64_t vector[] = {5}, matrix[] = {2, 5};
  EXPECT_EQ(rowForm(portOf(DType::F32, 0), vector)->elements(), 5);
  EXPECT_EQ(rowForm(portOf(DType::F32, 0), matrix)->elements(), 32);
  EXPECT_EQ(rowForm(portOf(DType::F32, 0, true), matrix)->elements(), 10);
  EXPECT_EQ(rowForm(portOf(DType::I32, 0), matrix)->elements(), 10);
  EXPECT_EQ(rowForm(portOf(DType::Bool, 0), matrix)->elements(), 32); // flags are padded
  EXPECT_EQ(rowForm(portOf(DType::F32, 0), std::vector<int64_t>{3, 0})->elements(), 0);
  EXPECT_FALSE(rowForm(portOf(DType::F32, 3), matrix));
}

TEST(Boundary, ElementsAreConverted) {
  int64_t shape[] = {2};
  auto form = rowForm(portOf(DType::F32, 0), shape);
  uint32_t memory[2];
  uint16_t halves[] = {0x3c00, 0xc000};
  packTensor(Tensor::of<uint16_t>({2}, halves), *form, memory);
  EXPECT_EQ(std::bit_cast<float>(memory[0]), 1.0f);
  EXPECT_EQ(std::bit_cast<float>(memory[1]), -2.0f);
  int64_t longs[] = {-7, 1 << 30};
  packTensor(Tensor::of<int64_t>({2}, longs), *form, memory);
  EXPECT_EQ(static_cast<int32_t>(memory[0]), -7);
  Tensor back(DType::I64, {2});
  unpackTensor(memory, *form, back);
  EXPECT_EQ(valuesOf<int64_t>(back), (std::vector<int64_t>{-7, 1 << 30}));
}

TEST(Boundary, WhatIsAcceptedWhere) {
  EXPECT_TRUE(accepts(DType::I32, DType::I64));
  EXPECT_TRUE(accepts(DType::F32, DType::F16));
  EXPECT_FALSE(accepts(DType::I32, DType::F32));
  EXPECT_FALSE(accepts(DType::Bool, DType::I32));
  EXPECT_FALSE(accepts(DType::F32, DType::I32));
}
