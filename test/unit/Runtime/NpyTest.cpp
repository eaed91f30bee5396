//===- NpyTest.cpp - Files of NumPy -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that written files can be read again, and that damaged files are
// rejected with a reason.
#include "heddle/Runtime/Npy.h"
#include "TemporaryFolder.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;
using testing::HasSubstr;

static std::string fileOf(std::string dictionary, const std::string &data, char version = 1) {
  std::string text = "\x93NUMPY";
  text += {version, '\0', static_cast<char>(dictionary.size()), '\0'};
  if (version > 1)
    text += std::string(2, '\0');
  return text + dictionary + data;
}

static Expected<Tensor> parse(const std::string &text) {
  return parseNpy(std::as_bytes(std::span(text.data(), text.size())), "x.npy");
}

static std::string errorOf(const std::string &text) {
  auto tensor = parse(text);
  return tensor ? "no error" : tensor.error().message;
}

TEST(NamedTensorsDeathTest, ANameThatIsNotThereEndsTheProgram) {
  NamedTensors tensors;
  tensors.slot(0, "memory") = Tensor::f32({1}, std::vector<float>{1});
  EXPECT_EQ(tensors.find("logits"), nullptr);
  EXPECT_DEATH((void)tensors["logits"],
               "heddle: expected one of the tensors memory, found 'logits'");
}

TEST(TensorDeathTest, AnotherNumberOfValuesEndsTheProgram) {
  const std::vector<float> values{1, 2};
  EXPECT_DEATH((void)Tensor::f32({3}, values), "heddle: expected 3 values of a tensor, found 2");
}

TEST(NamedTensors, NamesAndTypesThatDoNotFitAreErrors) {
  NamedTensors results;
  results.set("y", Tensor::i32({2}, std::vector<int32_t>{3, 4}));
  results.set("h", Tensor(DType::BF16, {1}));
  EXPECT_THAT(*results.values<int32_t>("y"), testing::ElementsAre(3, 4));
  EXPECT_EQ((*results.get("y"))->size(), 2);
  EXPECT_TRUE(results.values<uint16_t>("h"));
  EXPECT_EQ(results.values<float>("y").error().message, "y: expected elements of f32, found i32");
  EXPECT_EQ(results.values<uint16_t>("y").error().message,
            "y: expected elements of f16, found i32");
  EXPECT_EQ(results.values<float>("z").error().message,
            "expected one of the tensors y, h, found 'z'");
  EXPECT_EQ(results.get("z").error().message, "expected one of the tensors y, h, found 'z'");
}

TEST(Npy, RoundTripOfEveryType) {
  test::TemporaryFolder folder;
  for (DType type : {DType::F32, DType::F16, DType::I32, DType::I64, DType::Bool}) {
    Tensor tensor(type, {2, 3});
    for (std::byte &byte : tensor.bytes())
      byte = std::byte{1};
    std::string path = folder / "round-trip.npy";
    ASSERT_TRUE(writeNpy(path, tensor));
    auto read = readNpy(path);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->dtype(), type);
    EXPECT_EQ(read->shape(), tensor.shape());
    EXPECT_EQ(std::memcmp(read->bytes().data(), tensor.bytes().data(), tensor.bytes().size()), 0);
  }
}

TEST(Npy, HeaderIsThatOfNumpy) {
  std::string header = npyHeader(Tensor(DType::F32, {3}));
  EXPECT_EQ(header.size() % 64, 0u);
  EXPECT_THAT(header, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_THAT(npyHeader(Tensor(DType::I64, {})), HasSubstr("'shape': (), }"));
}

TEST(Npy, AllVersionsAndKeyOrders) {
  std::string data(8, '\0');
  for (char version : {1, 2, 3}) {
    auto tensor = parse(
        fileOf("{\"shape\": (2, 1), 'fortran_order': False, 'descr': '<i4'}\n", data, version));
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->shape(), (std::vector<int64_t>{2, 1}));
  }
}

TEST(Npy, EmptyDimensions) {
  auto tensor = parse(fileOf(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904), }\n", ""));
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_EQ(tensor->size(), 0);
}

TEST(Npy, WhatIsNotReadSaysWhy) {
  auto header = [](const char *descr, const char *order, const char *shape) {
    return std::string("{'descr': '") + descr + "', 'fortran_order': " + order +
           ", 'shape': " + shape + ", }\n";
  };
  EXPECT_EQ(errorOf("text"), "x.npy: expected a .npy file, found other contents");
  EXPECT_EQ(errorOf(fileOf(header("<f4", "False", "(2,)"), "1234567")),
            "x.npy: expected 8 bytes of data for shape [2], found 7");
  EXPECT_THAT(errorOf(fileOf(header("<f4", "True", "(2, 2)"), std::string(16, 0))),
              HasSubstr("found Fortran order"));
  EXPECT_THAT(errorOf(fileOf(header(">f4", "False", "(2,)"), std::string(8, 0))),
              HasSubstr("found '>f4'"));
  EXPECT_THAT(errorOf(fileOf(header("<f8", "False", "(1,)"), std::string(8, 0))),
              HasSubstr("found '<f8'"));
  EXPECT_THAT(errorOf(fileOf(header("<f4", "False", "(4611686018427387904, 4)"), "")),
              HasSubstr("less than 2^62 bytes"));
  EXPECT_THAT(errorOf(fileOf(header("<f4", "False", "(-1,)"), "")), HasSubstr("damaged"));
  EXPECT_THAT(errorOf(fileOf("{'descr': '<f4'}\n", "")), HasSubstr("damaged"));
  EXPECT_THAT(errorOf(fileOf("", "", 9)), HasSubstr("version 1, 2 or 3, found 9"));
  EXPECT_THAT(errorOf(fileOf(header("<f4", "False", "(2,)"), "").substr(0, 30)),
              HasSubstr("found the end of the file"));
}

TEST(Npy, EveryTruncationIsAnError) {
  std::string whole = npyHeader(Tensor(DType::F32, {2})) + std::string(8, 'x');
  ASSERT_TRUE(parse(whole));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(parse(whole.substr(0, length))) << length;
  EXPECT_FALSE(parse(whole + "x"));
}

TEST(Npy, PathsThatCannotBe) {
  EXPECT_EQ(
      readNpy("/nonexistent/x.npy").error().message,
      "/nonexistent/x.npy: expected a file that can be read, found: No such file or directory");
  EXPECT_FALSE(readNpy("/tmp"));
  EXPECT_THAT(writeNpy("/nonexistent/x.npy", Tensor(DType::F32, {1})).error().message,
              HasSubstr("x.npy: expected a path that can be written, found: No such file"));
}
