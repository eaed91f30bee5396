//===- StoredTensorsTest.cpp - Checkpoints in the form of a folder --------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Training/StoredTensors.h"
#include "heddle/Pack/Safetensors.h"

#include "../Support/ScratchFolder.h"

#include <gmock/gmock.h>
#include <numeric>

using namespace heddle;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class StoredTensorsTest : public ScratchFolder {
protected:
  StoredTensorsTest() {
    int next = 1;
    for (const NamedShape &tensor : model) {
      auto &values = numbers.emplace_back(tensor.shape[0] * tensor.shape[1]);
      std::iota(values.begin(), values.end(), static_cast<float>(next));
      next += 100;
    }
  }
  Status save(const StoredTensors &stored) {
    return saveStored((folder / "w.safetensors").string(), stored, model,
                      [&](int, size_t tensor, int64_t first, std::span<float> out) {
                        std::copy_n(numbers[tensor].begin() + first, out.size(), out.begin());
                        return Status();
                      });
  }
  std::vector<float> read(const char *name) {
    auto source = openSafetensors((folder / "w.safetensors").string());
    EXPECT_TRUE(source) << source.error().message;
    const int tensor = (*source)->find(name);
    std::vector<float> values((*source)->tensors()[tensor].elements());
    (*source)->read(tensor, 0, values);
    return values;
  }

  const std::vector<NamedShape> model = {{"a", {2, 3}}, {"b", {2, 2}}};
  std::vector<std::vector<float>> numbers;
  /// A transpose; rows after others that no tensor of the model has; two tensors in one; zeros.
  const StoredTensors forms = {{{"turned", {3, 2}, {{"a", 0, 6, 0, true}}},
                                {"rows", {4, 2}, {{"b", 0, 4, 4, false}}},
                                {"both", {5, 2}, {{"b", 0, 4, 0, false}, {"a", 0, 6, 4, false}}},
                                {"nothing", {2}, {}}},
                               {"b"}};
};

TEST_F(StoredTensorsTest, AreWrittenInTheirForm) {
  ASSERT_TRUE(save(forms));
  EXPECT_THAT(read("turned"), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(read("rows"), ElementsAre(0, 0, 0, 0, 101, 102, 103, 104));
  EXPECT_THAT(read("both"), ElementsAre(101, 102, 103, 104, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(read("nothing"), ElementsAre(0, 0));
}

TEST_F(StoredTensorsTest, AreReadAsTheModelsTensors) {
  ASSERT_TRUE(save(forms));
  std::vector<std::vector<float>> found = {std::vector<float>(6), std::vector<float>(4)};
  ASSERT_TRUE(loadStored((folder / "w.safetensors").string(), forms, model,
                         [&](int, size_t tensor, int64_t first, std::span<const float> in) {
                           std::ranges::copy(in, found[tensor].begin() + first);
                           return Status();
                         }));
  EXPECT_EQ(found, numbers);
}

TEST_F(StoredTensorsTest, AreJsonWithValidRanges) {
  auto again = storedTensorsFromJson(toJson(forms), "file", model);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(toJson(*again), toJson(forms));
  const StoredRange wrong[] = {{"c", 0, 1, 0, false}, {"a", 0, 7, 0, false},  {"a", 3, 4, 0, false},
                               {"a", 0, 6, 1, false}, {"a", -1, 1, 0, false}, {"a", 0, 3, 0, true}};
  for (const StoredRange &range : wrong) {
    auto broken = storedTensorsFromJson(toJson({{{"t", {3, 2}, {range}}}, {}}), "file", model);
    EXPECT_FALSE(broken) << range.tensor << range.first << " " << range.count;
  }
  const StoredTensors twice = {{{"t", {6}, {{"a", 0, 4, 0, false}, {"a", 4, 2, 3, false}}}}, {}};
  auto broken = storedTensorsFromJson(toJson(twice), "file", model);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("file: t: expected ranges of the model's tensors "
                                                "in order, found 'a' from 4"));
}

} // namespace
