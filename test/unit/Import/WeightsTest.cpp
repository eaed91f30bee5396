//===- WeightsTest.cpp - Tensors that a model expects ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests missing, mis-shaped and extra tensors, and malformed files.

#include "ImportFixture.h"

#include <algorithm>

using namespace heddle;
using namespace heddle::test;
using testing::HasSubstr;

namespace {

class WeightsTest : public ImportTest {
protected:
  WeightsTest() {
    json = small();
    auto seeded = importJson(json);
    expected = seeded->tensors;
    json["weights"] = "w.safetensors";
  }
  std::string problemOf(const std::vector<TensorInfo> &tensors) {
    write("w.safetensors", safetensors(tensors));
    return problem(json);
  }

  Json json;
  std::vector<TensorInfo> expected;
};

TEST_F(WeightsTest, AllThere) {
  write("w.safetensors", safetensors(expected));
  auto model = importJson(json);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE(model->warnings.empty());
  EXPECT_EQ(model->weights->tensors().size(), expected.size());
}

TEST_F(WeightsTest, MissingAndMisshapen) {
  auto tensors = expected;
  std::erase_if(tensors, [](const TensorInfo &t) { return t.name == "encoder.1.ffn.in.weight"; });
  EXPECT_THAT(problemOf(tensors), HasSubstr("w.safetensors: encoder.1.ffn.in.weight: expected "));
  tensors = expected;
  auto found = std::find_if(tensors.begin(), tensors.end(), [](const TensorInfo &t) {
    return t.name == "encoder.0.ffn.in.weight";
  });
  std::swap(found->shape[0], found->shape[1]);
  EXPECT_EQ(problemOf(tensors),
            "w.safetensors: encoder.0.ffn.in.weight: expected [16, 12], found [12, 16]");
}

TEST_F(WeightsTest, ExtraOnesAreOneWarning) {
  auto tensors = expected;
  for (const char *name : {"a", "b", "c", "d"})
    tensors.push_back({name, "f32", {1}});
  write("w.safetensors", safetensors(tensors));
  auto model = importJson(json);
  ASSERT_TRUE(model);
  EXPECT_THAT(withoutFolder(testing::PrintToString(model->warnings)),
              HasSubstr("w.safetensors: expected only tensors that the model reads, found a, b, c "
                        "and 1 more"));
}

TEST_F(WeightsTest, FilesThatAreNone) {
  json["weights"] = "nowhere.safetensors";
  EXPECT_THAT(problem(json), HasSubstr("nowhere.safetensors: expected "));
  json["weights"] = ".";
  EXPECT_THAT(problem(json), HasSubstr("expected a file, found a directory"));
  write("w.safetensors", "junk");
  json["weights"] = "w.safetensors";
  EXPECT_THAT(problem(json), HasSubstr("w.safetensors: "));
  ImportOptions questions;
  questions.needsWeights = false;
  EXPECT_EQ(problem(json, questions), "no error");
}

TEST_F(WeightsTest, ADescriptionNamesItsOwn) {
  ImportOptions options;
  options.weights = write("other.safetensors", safetensors(expected));
  EXPECT_THAT(problem(small(), options), HasSubstr("--weights: expected a .mlir model with it"));
}

} // namespace
