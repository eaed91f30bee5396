//===- CheckpointTest.cpp - Weights and the state of a run ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Training/Checkpoint.h"

#include "TemporaryFolder.h"

#include <gmock/gmock.h>

using namespace heddle;
using testing::HasSubstr;

namespace {

const std::vector<NamedShape> tensors = {{"a.weight", {700, 2000}}, {"a.bias", {3}}};

float valueOf(int moment, size_t tensor, int64_t element) {
  return static_cast<float>(moment) + static_cast<float>(tensor) * 0.25F +
         static_cast<float>(element % 1000) * 10;
}

Status readValues(int moment, size_t tensor, int64_t first, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = valueOf(moment, tensor, first + static_cast<int64_t>(i));
  return {};
}

RunState stateOf() {
  RunState state{.step = 1234, .skipped = 2, .best = 0.125, .bestStep = 1000};
  state.identity = {.model = hashText(7), .data = hashText(8), .validation = hashText(9)};
  state.identity.recipe.seed = 3;
  state.identity.recipe.rate = {.kind = RateRecipe::Kind::Linear, .peak = 0.001};
  return state;
}

class CheckpointTest : public testing::Test {
protected:
  test::TemporaryFolder folder;
  std::string path = folder / "last.safetensors";
};

TEST_F(CheckpointTest, RunsAreReadAgain) {
  const Status saved = saveRun(path, stateOf(), tensors, 2, readValues);
  ASSERT_TRUE(saved) << saved.error().message;
  auto state = readRunState(path);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(*state, stateOf());
  int64_t elements = 0;
  const Status loaded = loadRun(
      path, tensors, 2, [&](int moment, size_t tensor, int64_t first, std::span<const float> in) {
        for (size_t i = 0; i < in.size(); ++i)
          EXPECT_EQ(in[i], valueOf(moment, tensor, first + static_cast<int64_t>(i)));
        elements += std::ssize(in);
        return Status();
      });
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(elements, 3 * (700 * 2000 + 3));
}

TEST_F(CheckpointTest, OtherFiles) {
  auto ignore = [](int, size_t, int64_t, std::span<const float>) { return Status(); };
  ASSERT_TRUE(saveWeights(path, tensors, readValues));
  EXPECT_EQ(readRunState(path).error().message,
            path + ": expected a checkpoint of a run, found weights alone");
  EXPECT_TRUE(loadRun(path, tensors, 0, ignore));
  EXPECT_THAT(loadRun(path, tensors, 1, ignore).error().message, HasSubstr("moment.1.a.weight"));
  const std::vector<NamedShape> other = {{"a.weight", {2000, 700}}};
  EXPECT_THAT(loadRun(path, other, 0, ignore).error().message,
              HasSubstr("a.weight: expected [2000, 700], found [700, 2000]"));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  EXPECT_THAT(loadRun(path, tensors, 0, ignore).error().message, HasSubstr("last.safetensors: "));
  EXPECT_FALSE(readRunState(folder / "none.safetensors"));
}

TEST_F(CheckpointTest, ErrorsOfReadingEndTheFile) {
  folder.write("last.safetensors", "old");
  auto fail = [](int, size_t, int64_t, std::span<float>) -> Status {
    return deviceError("device lost");
  };
  EXPECT_EQ(saveRun(path, stateOf(), tensors, 2, fail).error().message, "device lost");
  EXPECT_EQ(std::filesystem::file_size(path), 3U);
}

/// A run resumes only its own checkpoint. The error names the first difference.
TEST_F(CheckpointTest, DifferencesAreNamed) {
  const RunState state = stateOf();
  auto problem = [&](auto change) {
    RunIdentity run = state.identity;
    change(run);
    const Status same = checkSameRun(state, run, "--resume");
    return same ? "" : same.error().message;
  };
  EXPECT_EQ(problem([](RunIdentity &) {}), "");
  EXPECT_EQ(problem([](RunIdentity &run) { run.model = hashText(1); }),
            "--resume: expected the description of the resumed run, 0000000000000007, found "
            "0000000000000001");
  EXPECT_EQ(problem([](RunIdentity &run) { run.data = hashText(1); }),
            "--resume: expected the data of the resumed run, 0000000000000008, found "
            "0000000000000001");
  EXPECT_EQ(problem([](RunIdentity &run) { run.validation = ""; }),
            "--resume: expected the validation data of the resumed run, 0000000000000009, "
            "found none");
  EXPECT_EQ(problem([](RunIdentity &run) { run.recipe.seed = 4; }),
            "--resume: expected training.seed of the resumed run, 3, found 4");
  EXPECT_EQ(problem([](RunIdentity &run) { run.recipe.rate.peak = 0.002; }),
            "--resume: expected training.rate.peak of the resumed run, 0.001, found 0.002");
  EXPECT_EQ(problem([](RunIdentity &run) { run.recipe.optimizer.clip = 1; }),
            "--resume: expected training.optimizer.clip of the resumed run, the default, "
            "found 1.0");
  EXPECT_EQ(problem([](RunIdentity &run) { run.recipe.epochs = 3; }),
            "--resume: expected training.epochs of the resumed run, the default, found 3");
  EXPECT_EQ(problem([](RunIdentity &run) { run.recipe.keep.word = Recipe::Keep::Layers; }), "");
  EXPECT_EQ(problem([](RunIdentity &run) { run.recipe.measure.rows = 5; }), "");
}

/// The rate of noam does not depend on the length of the run.
TEST_F(CheckpointTest, EndlessRunsMayBecomeLonger) {
  RunState state = stateOf();
  state.identity.recipe.rate = {};
  RunIdentity run = state.identity;
  run.recipe.epochs = 50;
  EXPECT_TRUE(checkSameRun(state, run, "--resume"));
}

TEST_F(CheckpointTest, Hashes) {
  EXPECT_EQ(hashText(hashOfBytes("")), "cbf29ce484222325");
  EXPECT_EQ(hashText(hashOfBytes("a")), "af63dc4c8601ec8c");
}

} // namespace
