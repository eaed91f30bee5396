//===- SourceRunsTest.cpp - Packed texts in an encoder --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows that an encoder gives for a text have the same bits alone, with padding and together
// with other texts in one row, and so does the decoder's output.

#include "LanguageFolders.h"
#include "Models.h"

#include "heddle/ExecutionEngine/Jit.h"
#include "heddle/Generation/Commands.h"
#include "heddle/Generation/SourceRuns.h"

#include <cstring>
#include <sstream>

using namespace heddle;
using namespace heddle::test;

namespace {

struct Case {
  const char *folder, *device, *dtype;
};

class SourceRunsTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    const Case &c = GetParam();
    putFolder(c.folder, std::string("folders/") + c.folder, folder.path());
    JitOptions options{.device = c.device};
    options.dtype = c.dtype;
    auto compiled = jit(folder.path().string(), options);
    if (!compiled && isMissingDevice(compiled.error()))
      GTEST_SKIP() << compiled.error().message;
    ASSERT_TRUE(compiled) << compiled.error().message;
    session.emplace(std::move(*compiled));
    ASSERT_TRUE(session->program().findFunction(packedFunction));
    HEDDLE_ASSERT(read, textModelOf(*session));
    model = std::move(read);
    HEDDLE_ASSERT(made, SourceRuns::create(*session, model));
    runs.emplace(std::move(made));
  }

  /// Texts with these numbers of tokens.
  static std::vector<EncodedText> textsOf(const std::vector<int64_t> &lengths) {
    std::vector<EncodedText> texts;
    for (int64_t length : lengths) {
      EncodedText &text = texts.emplace_back();
      for (int64_t i = 0; i < length; ++i)
        text.ids.push_back(static_cast<int32_t>(5 + (11 * std::ssize(texts) + 7 * i) % 90));
    }
    return texts;
  }
  static std::vector<const EncodedText *> pointers(const std::vector<EncodedText> &texts) {
    std::vector<const EncodedText *> result;
    for (const EncodedText &text : texts)
      result.push_back(&text);
    return result;
  }

  /// The rows of each text equal the rows of `encode` over this text alone. They are followed by
  /// zeros: rows of padding are not computed.
  void expectRowsOfTextsAlone(const std::vector<int64_t> &lengths) {
    const std::vector<EncodedText> texts = textsOf(lengths);
    const std::vector<const EncodedText *> all = pointers(texts);
    HEDDLE_ASSERT(found, runs->memory(all));
    const Tensor together = *found;
    const int64_t longest = *std::ranges::max_element(lengths), features = together.dim(2);
    ASSERT_EQ(together.shape(), (std::vector{std::ssize(lengths), longest, features}));
    EXPECT_TRUE(sameBits(
        runs->lengths(all),
        Tensor::i32({std::ssize(lengths)}, std::vector<int32_t>(lengths.begin(), lengths.end()))));
    for (size_t i = 0; i < texts.size(); ++i) {
      const Tensor ids = Tensor::i32({1, lengths[i]}, texts[i].ids),
                   length = Tensor::i32({1}, std::vector{static_cast<int32_t>(lengths[i])});
      HEDDLE_ASSERT(alone, call(*session, "encode", {{"source", ids}, {"source.lengths", length}}));
      const Tensor row = slice(together, 0, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1);
      EXPECT_TRUE(sameBits(slice(row, 1, 0, lengths[i]), alone.at("memory"))) << "text " << i;
      const Tensor behind = slice(row, 1, lengths[i], longest);
      EXPECT_EQ(std::ranges::count(behind.values<float>(), 0.0f), behind.size()) << "text " << i;
    }
  }

  TemporaryFolder folder;
  std::optional<Session> session;
  TextModel model;
  std::optional<SourceRuns> runs;
};

TEST_P(SourceRunsTest, RowsAreThoseOfTextsAlone) {
  expectRowsOfTextsAlone({5, 1, 33, 17, 2});
  expectRowsOfTextsAlone({3});
  expectRowsOfTextsAlone({4, 4, 4});
  std::vector<int64_t> many; // more texts than fit into one run
  for (int64_t i = 0; i < 90; ++i)
    many.push_back(1 + (13 * i) % 50);
  expectRowsOfTextsAlone(many);
}

/// Also tests beams, with texts that join the batch as others leave it.
TEST_P(SourceRunsTest, TextsTogetherAreThoseOfTextsAlone) {
  HEDDLE_ASSERT(answers, goldenOf(GetParam().folder, "answers.json"));
  auto translate = [&](TranslateCommand command) {
    std::istringstream in;
    std::ostringstream out, notes;
    Status status = translateCommand(*session, command, in, out, notes);
    return status ? out.str() : "error: " + status.error().message;
  };
  TranslateCommand command;
  if (answers[0].contains("to"))
    command.to = answers[0]["to"].get<std::string>();
  const std::vector<std::string> texts = {"the quick brown fox jumps over the lazy dog",
                                          "a",
                                          "a model reads words",
                                          "def compute",
                                          "the quick brown fox jumps over 10 apples",
                                          "She said",
                                          "a lazy dog",
                                          "I would"};
  for (int64_t beam : {1, 3}) {
    command.writing.beam = beam;
    std::string alone;
    for (const std::string &text : texts) {
      command.text = {.texts = {text}};
      alone += translate(command);
    }
    EXPECT_EQ(alone.find("error"), alone.npos) << alone;
    command.text = {.texts = texts, .batch = 4};
    EXPECT_EQ(translate(command), alone) << beam << " beams";
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, SourceRunsTest,
                         testing::Values(Case{"t5", "cpu", "f32"}, Case{"t5", "cpu", "int8"},
                                         Case{"t5", "vulkan", "f32"}, Case{"marian", "cpu", "f32"},
                                         Case{"marian", "vulkan", "bf16"},
                                         Case{"mbart50", "cpu", "bf16"}),
                         [](const auto &info) {
                           return std::string(info.param.folder) + "_" + info.param.device + "_" +
                                  info.param.dtype;
                         });

} // namespace
