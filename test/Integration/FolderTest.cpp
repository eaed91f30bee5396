//===- FolderTest.cpp - Hugging Face folders against Transformers ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every folder of test/folders on both devices: results of Transformers lie beside
// its weights (make.py). A new architecture is a new folder and no line here.

#include "Models.h"

#include "heddle/ExecutionEngine/Jit.h"
#include "heddle/Support/Formats.h"

using namespace heddle;
using namespace heddle::test;
namespace fs = std::filesystem;

namespace {

fs::path folders() { return fs::path(HEDDLE_SOURCE_DIR) / "test" / "folders"; }

std::vector<std::string> folderNames() {
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(folders()))
    if (fs::exists(entry.path() / "config.json"))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// Zeroes rows behind each text's length, as the goldens have them: they are no results.
void zeroPadding(Tensor &rows, const Tensors &inputs) {
  auto lengths = inputs.find("source.lengths");
  if (lengths == inputs.end() || rows.rank() != 3)
    return;
  std::span<float> values = rows.values<float>();
  const int64_t steps = rows.dim(1), width = rows.dim(2);
  for (int64_t b = 0; b < rows.dim(0); ++b)
    for (int64_t t = lengths->second.values<int32_t>()[b]; t < steps; ++t)
      std::ranges::fill(values.subspan((b * steps + t) * width, width), 0.0f);
}

/// Folder, device, dtype.
class FolderTest
    : public testing::TestWithParam<std::tuple<std::string, std::pair<std::string, std::string>>> {
};

TEST_P(FolderTest, AgreesWithTransformers) {
  const auto &[name, way] = GetParam();
  const auto &[device, dtype] = way;
  fs::path golden = folders() / name / "golden";
  HEDDLE_ASSERT(inputs, readTensors(golden / "inputs"));
  HEDDLE_ASSERT(expected, readTensors(golden / "encode"));
  ASSERT_FALSE(expected.empty());
  auto session = jit((folders() / name).string(), {.device = device, .dtype = dtype});
  if (!session && isMissingDevice(session.error()))
    GTEST_SKIP() << session.error().message;
  ASSERT_TRUE(session) << session.error().message;
  HEDDLE_ASSERT(found, call(*session, "encode", inputs));
  for (const auto &[result, tensor] : expected) {
    ASSERT_TRUE(found.count(result)) << result;
    zeroPadding(found.at(result), inputs);
    EXPECT_LE(difference(found.at(result), tensor), findFormat(dtype)->error) << result;
  }
}

std::string nameOf(const testing::TestParamInfo<FolderTest::ParamType> &info) {
  const auto &[name, way] = info.param;
  std::string text = name + "_" + way.first + "_" + way.second;
  std::ranges::replace_if(text, [](char c) { return c == '-' || c == '.'; }, '_');
  return text;
}

INSTANTIATE_TEST_SUITE_P(All, FolderTest,
                         testing::Combine(testing::ValuesIn(folderNames()),
                                          testing::Values(std::pair("cpu", "f32"),
                                                          std::pair("vulkan", "f32"),
                                                          std::pair("cpu", "bf16"))),
                         nameOf);

} // namespace
