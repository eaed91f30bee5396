//===- DataTest.cpp - Examples of a run -----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the full text of each error, since users see it.

#include "heddle/Training/Data.h"

#include "TemporaryFolder.h"

#include "heddle/Support/MappedBytes.h"

#include <gmock/gmock.h>

using namespace heddle;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

Expected<std::string> readMember(const std::string &name) {
  if (name == "source.txt")
    return std::string("P\nU\nS\nE\n我\n是\n谁\n");
  if (name == "target.txt")
    return std::string("P\nU\nS\nE\nwho\nam\ni\n");
  if (name == "labels.txt")
    return std::string("bad\ngood\n");
  return inputError("no member " + name);
}

TextModel modelOf(const std::string &json) {
  auto model = readTextModel(json, readMember);
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

const char *const pairs =
    R"({"text": {"kind": "encoder-decoder"}, "source": {"vocabulary-file": "source.txt", "most": 5},
        "target": {"vocabulary-file": "target.txt", "unknown": null, "limit": 5}})";
const char *const classes =
    R"({"text": {"kind": "encoder", "classes": 2, "labels-file": "labels.txt"},
        "source": {"vocabulary-file": "source.txt"}})";
const char *const decoder =
    R"({"text": {"kind": "decoder"}, "target": {"vocabulary-file": "target.txt", "limit": 4}})";
const char *const numbers =
    R"({"text": {"kind": "encoder", "classes": 3}, "source": {"vocabulary-size": 20, "add": true}})";

class DataTest : public testing::Test {
protected:
  Expected<Data> read(const TextModel &model, const std::string &content, int64_t times = 1) {
    return Data::read({{folder.write("a.tsv", content), times}}, model, "--data");
  }
  /// The error about a file, without the folder's name.
  std::string problem(const char *json, const std::string &content) {
    const TextModel model = modelOf(json);
    auto data = read(model, content);
    if (data)
      return "no error";
    std::string message = data.error().message;
    const std::string path = (folder.path() / "").string();
    for (size_t at; (at = message.find(path)) != std::string::npos;)
      message.erase(at, path.size());
    return message;
  }

  test::TemporaryFolder folder;
};

TEST_F(DataTest, Pairs) {
  const TextModel model = modelOf(pairs);
  auto data = read(model, "我 是 谁\twho am i\n谁 好\ti\n");
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->size(), 2U);
  EXPECT_THAT(data->source(0), ElementsAre(4, 5, 6));
  EXPECT_THAT(data->reference(0), ElementsAre(4, 5, 6, 3));
  EXPECT_THAT(data->source(1), ElementsAre(6, 1));
  EXPECT_THAT(data->reference(1), ElementsAre(6, 3));
  EXPECT_EQ(data->counts().unknown, 1);
  EXPECT_EQ(data->counts().lines, 2);
  EXPECT_EQ(data->counts().tokens, 11);
  EXPECT_EQ(data->lengths()[0].target, 4);
  EXPECT_EQ(data->lengths()[1].source, 2);
}

TEST_F(DataTest, LineEnds) {
  const TextModel model = modelOf(pairs);
  for (const char *text :
       {"我\ti\n谁\twho", "我\ti\r\n谁\twho\r\n", "\xef\xbb\xbf我\ti\n谁\twho\n"}) {
    auto data = read(model, text);
    ASSERT_TRUE(data) << data.error().message;
    ASSERT_EQ(data->size(), 2U);
    EXPECT_THAT(data->source(0), ElementsAre(4));
    EXPECT_THAT(data->reference(1), ElementsAre(4, 3));
  }
}

TEST_F(DataTest, FilesThatAreNoPairs) {
  EXPECT_EQ(problem(pairs, ""), "a.tsv: expected one example a line, found an empty file");
  EXPECT_EQ(problem(pairs, "我\ti\n我\n"),
            "a.tsv: line 2: expected source<TAB>target, found one column");
  EXPECT_EQ(problem(pairs, "我\ti\n\n"),
            "a.tsv: line 2: expected source<TAB>target, found an empty line");
  EXPECT_EQ(problem(pairs, "我\ti\ti\n"),
            "a.tsv: line 1: expected source<TAB>target, found 3 columns");
  EXPECT_EQ(problem(pairs, "\ti\n"), "a.tsv: line 1: expected text in column 1, found none");
  EXPECT_EQ(problem(pairs, "我\t \n"), "a.tsv: line 1: expected text in column 2, found none");
  EXPECT_EQ(problem(pairs, "我\tI\n"), "a.tsv: line 1: expected words of target.txt, found 'I'");
  EXPECT_EQ(problem(pairs, "我 我 我 我 我 我\ti\n"),
            "a.tsv: line 1: expected at most 5 tokens, found 6");
  EXPECT_EQ(problem(pairs, "我\ti i i i i\n"),
            "a.tsv: line 1, column 2: expected at most 5 tokens, found 6");
}

TEST_F(DataTest, FilesThatAreNoText) {
  EXPECT_EQ(problem(pairs, "我\ti\n\xff\ti\n"),
            "a.tsv: line 2: expected UTF-8, found byte 0xff at offset 0");
  EXPECT_EQ(problem(pairs, std::string("a\0b\ti\n", 6)),
            "a.tsv: line 1: expected text, found a NUL byte at offset 1");
  EXPECT_EQ(problem(pairs, "我\ti\r谁\twho\r"),
            "a.tsv: line 1: expected lines that end in LF or CR LF, found CR at offset 5");
  EXPECT_EQ(problem(pairs, std::string((16 << 20) + 1, 'a')),
            "a.tsv: line 1: expected a line of at most 16 MiB, found a longer one");
  const TextModel model = modelOf(pairs);
  EXPECT_EQ(Data::read({{"/missing.tsv"}}, model, "--data").error().message,
            "/missing.tsv: expected a file that can be read, found: No such file or directory");
  EXPECT_EQ(Data::read({{"/"}}, model, "--data").error().message,
            "/: expected a file, found a directory");
  EXPECT_EQ(Data::read({}, model, "--data").error().message, "--data: expected a file, found none");
}

/// Two gibibytes in one line are refused before they are in memory.
TEST_F(DataTest, HugeLine) {
  const std::string path = folder.write("a.tsv", "");
  std::filesystem::resize_file(path, uintmax_t{2} << 30); // takes no space
  const TextModel model = modelOf(pairs);
  EXPECT_THAT(Data::read({{path}}, model, "--data").error().message,
              testing::HasSubstr("line 1: expected a line of at most 16 MiB"));
}

TEST_F(DataTest, Labels) {
  const TextModel model = modelOf(classes);
  auto data = read(model, "我 是\tgood\n谁\tbad\n");
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->label(0), 1);
  EXPECT_EQ(data->label(1), 0);
  EXPECT_THAT(data->reference(0), IsEmpty());
  EXPECT_EQ(problem(classes, "我\tfine\n"),
            "a.tsv: line 1: expected a label of the model (bad, good), found 'fine'");
  EXPECT_EQ(problem(classes, "我\n"), "a.tsv: line 1: expected text<TAB>label, found one column");
}

TEST_F(DataTest, NumbersInThePlaceOfNames) {
  const TextModel model = modelOf(numbers);
  auto data = read(model, "7 19\t2\n");
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_THAT(data->source(0), ElementsAre(2, 7, 19, 3));
  EXPECT_EQ(data->label(0), 2);
  EXPECT_EQ(problem(numbers, "7 20\t2\n"),
            "a.tsv: line 1: expected ids of at least 0 and below 20, found '20'");
  EXPECT_EQ(problem(numbers, "-1\t2\n"),
            "a.tsv: line 1: expected ids of at least 0 and below 20, found '-1'");
  EXPECT_EQ(problem(numbers, "7\t3\n"),
            "a.tsv: line 1: expected a label of the model (0 to 2), found '3'");
}

TEST_F(DataTest, WindowsOfText) {
  const TextModel model = modelOf(decoder);
  auto data = read(model, "who am\n\ni i\nam");
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->size(), 2U);
  EXPECT_THAT(data->reference(0), ElementsAre(4, 5, 3, 6));
  EXPECT_THAT(data->reference(1), ElementsAre(6, 3, 5, 3));
  EXPECT_THAT(data->source(0), IsEmpty());
  EXPECT_EQ(problem(decoder, "\n \n"), "a.tsv: expected text, found no tokens");
}

TEST_F(DataTest, ModelsThatTextsCannotTrain) {
  EXPECT_EQ(problem(R"({"text": {"kind": "encoder"}, "source": {"vocabulary-file": "source.txt"}})",
                    "a\tb\n"),
            "expected an encoder with one class a text, found no classifier");
  EXPECT_EQ(problem(R"({"text": {"kind": "encoder", "classes": 2}, "source": {}})", "a\tb\n"),
            "expected a model of texts or ids, found another source or target");
}

TEST_F(DataTest, FilesThatAreRepeated) {
  const TextModel model = modelOf(classes);
  const std::string first = folder.write("a.tsv", "我\tbad\n是\tbad\n"),
                    second = folder.write("b.tsv", "谁\tgood\n");
  auto data = Data::read({{first, 3}, {second, 2}}, model, "--data");
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->size(), 8U);
  std::vector<int32_t> ids, labels;
  for (size_t i = 0; i < data->size(); ++i) {
    ids.push_back(data->source(i)[0]);
    labels.push_back(data->label(i));
  }
  EXPECT_THAT(ids, ElementsAre(4, 5, 4, 5, 4, 5, 6, 6));
  EXPECT_THAT(labels, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1));
  EXPECT_EQ(data->hash(), Data::read({{first, 3}, {second, 2}}, model, "")->hash());
  EXPECT_NE(data->hash(), Data::read({{first, 2}, {second, 2}}, model, "")->hash());
  EXPECT_NE(data->hash(), Data::read({{second, 2}, {first, 3}}, model, "")->hash());
}

TEST_F(DataTest, ArgumentsWithTimes) {
  EXPECT_EQ(parseDataFile("a.tsv")->times, 1);
  EXPECT_EQ(parseDataFile("a.tsv:20")->times, 20);
  EXPECT_EQ(parseDataFile("a.tsv:20")->path, "a.tsv");
  EXPECT_EQ(parseDataFile("C:a.tsv")->path, "C:a.tsv");
  EXPECT_EQ(parseDataFile("a.tsv:0").error().message,
            "'a.tsv:0': expected a number of times from 1 to 1000000, found 0");
  EXPECT_EQ(parseDataFile("a:99999999999999999999").error().message,
            "'a:99999999999999999999': expected a number of times from 1 to 1000000, found "
            "99999999999999999999");
  EXPECT_EQ(parseDataFile("").error().message, "expected FILE or FILE:TIMES, found nothing");
  const std::string odd = folder.write("b:2", "");
  EXPECT_EQ(parseDataFile(odd)->path, odd);
}

TEST_F(DataTest, Batches) {
  const TextModel model = modelOf(pairs);
  auto data = read(model, "我 是 谁\twho am i\n谁\ti\n");
  ASSERT_TRUE(data) << data.error().message;
  const BatchInputs inputs = data->batch(std::vector<uint32_t>{1, 0});
  ASSERT_EQ(inputs.tensors.size(), 4U);
  EXPECT_EQ(inputs.tensors[0].first, "source");
  EXPECT_THAT(inputs.tensors[0].second.shape(), ElementsAre(2, 3));
  EXPECT_THAT(inputs.tensors[0].second.values<int32_t>(), ElementsAre(6, 0, 0, 4, 5, 6));
  EXPECT_THAT(inputs.tensors[1].second.values<int32_t>(), ElementsAre(1, 3));
  EXPECT_EQ(inputs.tensors[2].first, "reference");
  EXPECT_THAT(inputs.tensors[2].second.values<int32_t>(), ElementsAre(6, 3, 0, 0, 4, 5, 6, 3));
  EXPECT_THAT(inputs.tensors[3].second.values<int32_t>(), ElementsAre(2, 4));
  EXPECT_EQ(inputs.tokens, 6);
}

TEST_F(DataTest, BatchesOfClasses) {
  const TextModel model = modelOf(classes);
  auto data = read(model, "我 是\tgood\n谁\tbad\n");
  ASSERT_TRUE(data) << data.error().message;
  const BatchInputs inputs = data->batch(std::vector<uint32_t>{0, 1});
  ASSERT_EQ(inputs.tensors.size(), 3U);
  EXPECT_EQ(inputs.tensors[2].first, "labels");
  EXPECT_THAT(inputs.tensors[2].second.values<int32_t>(), ElementsAre(1, 0));
  EXPECT_EQ(inputs.tokens, 2);
}

/// Texts of a folder become the ids of its tokenizer, special tokens included.
TEST_F(DataTest, Tokenizers) {
  const std::string source = HEDDLE_SOURCE_DIR "/test/data/folders/sentences/";
  auto model = readTextModel(
      R"({"text": {"kind": "encoder", "classes": 2},
          "source": {"tokenizer-file": "tokenizer.json", "unknown": null, "most": 8}})",
      [&](const std::string &file) { return readTextFile(source + file, 1 << 24); });
  ASSERT_TRUE(model) << model.error().message;
  auto data = read(*model, "blue and red\t1\n");
  ASSERT_TRUE(data) << data.error().message;
  const auto encoded = model->source->encode("blue and red", "text");
  EXPECT_THAT(data->source(0), testing::ElementsAreArray(encoded->ids));
  auto longer = read(*model, "blue and red and blue and red and blue and red\t1\n");
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().message,
              testing::HasSubstr("a.tsv: line 1: expected at most 8 tokens, found "));
}

/// Held-out data of the examples, with their vocabularies.
TEST_F(DataTest, Examples) {
  const std::tuple<const char *, const char *, size_t> examples[] = {
      {"translate",
       R"({"text": {"kind": "encoder-decoder"},
           "source": {"vocabulary-file": "source.txt", "unknown": null},
           "target": {"vocabulary-file": "target.txt", "unknown": null, "limit": 40}})",
       500},
      {"couplet",
       R"({"text": {"kind": "encoder-decoder"},
           "source": {"vocabulary-file": "characters.txt", "split": "character", "unknown": null},
           "target": {"vocabulary-file": "characters.txt", "split": "character", "unknown": null,
                      "limit": 40}})",
       200},
      {"classify",
       R"({"text": {"kind": "encoder", "classes": 3, "labels-file": "labels.txt"},
           "source": {"vocabulary-file": "words.txt"}})",
       500}};
  for (const auto &[name, json, count] : examples) {
    const std::filesystem::path source =
        std::filesystem::path(HEDDLE_SOURCE_DIR) / "examples" / name;
    auto model = readTextModel(json, [&](const std::string &file) {
      return readTextFile((source / file).string(), 1 << 20);
    });
    ASSERT_TRUE(model) << model.error().message;
    auto data = Data::read({{(source / "held-out.tsv").string()}}, *model, "--data");
    ASSERT_TRUE(data) << data.error().message;
    EXPECT_EQ(data->size(), count) << name;
    EXPECT_EQ(data->counts().unknown, 0) << name;
  }
}

/// The words of an example that are replaced depend neither on its batch nor on its row.
TEST_F(DataTest, WordsAreReplaced) {
  const TextModel model = modelOf(classes);
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += "我 是 谁 我 是 谁 我 是 谁 我\tgood\n";
  auto data = read(model, text);
  ASSERT_TRUE(data) << data.error().message;
  std::vector<uint32_t> all(500);
  for (uint32_t i = 0; i < all.size(); ++i)
    all[i] = i;
  const WordDropout words{.probability = 0.2, .seed = 7, .epoch = 1};
  const BatchInputs inputs = data->batch(all, words), again = data->batch(all, words);
  const auto ids = inputs.tensors[0].second.values<int32_t>();
  EXPECT_TRUE(std::ranges::equal(ids, again.tensors[0].second.values<int32_t>()));
  EXPECT_NEAR(static_cast<double>(std::ranges::count(ids, 1)), 1000, 120); // 4 deviations
  const BatchInputs one = data->batch(std::vector<uint32_t>{123}, words);
  EXPECT_TRUE(std::ranges::equal(one.tensors[0].second.values<int32_t>(), ids.subspan(1230, 10)));
  const BatchInputs later = data->batch(all, {.probability = 0.2, .seed = 7, .epoch = 2});
  EXPECT_FALSE(std::ranges::equal(ids, later.tensors[0].second.values<int32_t>()));
}

} // namespace
