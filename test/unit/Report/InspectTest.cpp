//===- InspectTest.cpp - Summary of a model -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Report/Inspect.h"
#include "TemporaryFolder.h"

#include "gtest/gtest.h"

using namespace heddle;

static const std::string embedModel = HEDDLE_SOURCE_DIR "/examples/embed/model.json";

TEST(Inspect, LayersShareKernels) {
  auto text = inspectModel(embedModel, {});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_NE(text->find("kind       encoder\n"), std::string::npos) << *text;
  test::TemporaryFolder folder;
  const std::string one =
      folder.write("three-layers.json",
                   R"json({ "heddle": 1, "kind": "encoder", "size": 64, "weights": {"seed": 7},
    "source": {"vocabulary": 100, "padding": 0}, "attention": {"heads": 4}, "ffn": {"size": 128},
    "encoder": {"layers": 3, "mask": "lengths(source)"} })json");
  auto more = inspectModel(one, {});
  ASSERT_TRUE(more) << more.error().message;
  auto kernelsOf = [](const std::string &s) {
    return s.substr(s.find("kernels "), s.find('\n', s.find("kernels ")) - s.find("kernels "));
  };
  EXPECT_EQ(kernelsOf(*text), kernelsOf(*more));
}
