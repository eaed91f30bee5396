//===- GgufTest.cpp - GGUF files, valid and hostile -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds files from bytes, so that each count, length, type and offset can be
// wrong.

#include "GgufFile.h"
#include "TemporaryFolder.h"

#include "heddle/Support/GgufVocabulary.h"

#include <gmock/gmock.h>

using namespace heddle;
using namespace heddle::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

Expected<Gguf> openBytes(const std::string &bytes) {
  TemporaryFolder folder;
  return Gguf::open(folder.write("m.gguf", bytes)); // the file stays mapped
}

std::string problem(const std::string &bytes) {
  auto file = openBytes(bytes);
  if (file)
    return "no error";
  const std::string &message = file.error().message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message.substr(message.find(".gguf: ") + 7);
}

constexpr auto number64 = GgufFile::number<uint64_t>;

std::string value(std::string_view key, GgufType type, const std::string &bytes) {
  return GgufFile::text(key) + GgufFile::type(type) + bytes;
}
/// A file with one value.
std::string withValue(GgufType type, const std::string &bytes) {
  return GgufFile::bytes(3, 0, 1, value("k", type, bytes), "");
}
/// A file with one or more tensors.
std::string withTensor(const std::string &infos, const std::string &data, uint64_t count = 1) {
  return GgufFile::bytes(3, count, 0, infos, data);
}

/// A file with values of all types and three tensors.
GgufFile all() {
  GgufFile file;
  file.raw("u8", GgufFile::type(GgufType::U8) + "\xff")
      .raw("i8", GgufFile::type(GgufType::I8) + "\xff")
      .raw("u16", GgufFile::type(GgufType::U16) + GgufFile::number<uint16_t>(65535))
      .raw("i16", GgufFile::type(GgufType::I16) + GgufFile::number<int16_t>(-2))
      .add("u32", uint32_t(4000000000))
      .raw("i32", GgufFile::type(GgufType::I32) + GgufFile::number<int32_t>(-3))
      .add("f32", 1.5f)
      .add("flag", true)
      .add("text", "hé\n")
      .raw("u64", GgufFile::type(GgufType::U64) + GgufFile::number(UINT64_MAX))
      .raw("i64", GgufFile::type(GgufType::I64) + GgufFile::number<int64_t>(INT64_MIN))
      .raw("f64", GgufFile::type(GgufType::F64) + GgufFile::number(0.1))
      .add("texts", std::vector<std::string>{"a", "", "bc"})
      .addNumbers<int16_t>("numbers", GgufType::I16, {1, -1})
      .addNumbers<uint8_t>("flags", GgufType::Bool, {1, 0})
      .add("none", std::vector<std::string>{});
  return file.tensor("a", {2, 3}, {1, 2, 3, 4, 5, 6})
      .tensor("b", {}, {7})
      .tensor("c", {2, 32}, 8, std::string(68, '\1'));
}

TEST(Gguf, ValuesOfAllTypes) {
  auto file = openBytes(all().bytes());
  ASSERT_TRUE(file) << file.error().message;
  for (auto [key, expected] :
       std::initializer_list<std::pair<const char *, int64_t>>{{"u8", 255},
                                                               {"i8", -1},
                                                               {"u16", 65535},
                                                               {"i16", -2},
                                                               {"u32", 4000000000},
                                                               {"i32", -3},
                                                               {"i64", INT64_MIN}}) {
    EXPECT_EQ(file->find(key)->integer(), expected) << key;
    EXPECT_EQ(file->find(key)->number(), static_cast<double>(expected)) << key;
  }
  EXPECT_EQ(file->find("u64")->integer(), std::nullopt); // beyond int64
  EXPECT_EQ(file->find("u64")->number(), 0x1p64);
  EXPECT_EQ(file->find("f32")->number(), 1.5);
  EXPECT_EQ(file->find("f64")->number(), 0.1);
  EXPECT_EQ(file->find("f64")->integer(), std::nullopt);
  EXPECT_EQ(file->find("flag")->flag(), true);
  EXPECT_EQ(file->find("text")->text(), "hé\n");
  EXPECT_THAT(*file->texts("texts"), ElementsAre("a", "", "bc"));
  EXPECT_THAT(*file->numbers("numbers"), ElementsAre(1, -1));
  EXPECT_THAT(*file->texts("none"), ElementsAre());
  EXPECT_EQ(file->find("flags")->numbers(), std::nullopt);
  EXPECT_EQ(file->find("missing"), nullptr);
  EXPECT_EQ(file->metadata().size(), 16u);
}

TEST(Gguf, TensorsHaveTheirRowsFirst) {
  auto file = openBytes(all().bytes());
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 3u);
  EXPECT_THAT(file->tensors()[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(file->tensors()[0].bytes.size(), 24u);
  EXPECT_THAT(file->tensors()[1].shape, ElementsAre());
  EXPECT_EQ(file->tensors()[2].type, "q8_0");
  EXPECT_EQ(file->tensors()[2].bytes.size(), 68u);
  EXPECT_EQ(file->tensors()[2].bytes[67], std::byte{1});
}

TEST(Gguf, VersionTwoAndOwnAlignment) {
  auto second = openBytes(GgufFile::bytes(2, 0, 0, "", ""));
  EXPECT_TRUE(second) << second.error().message;
  GgufFile values;
  values.add("general.alignment", uint32_t(8));
  const std::string head = values.bytes().substr(24);
  std::string file = GgufFile::bytes(3, 1, 1, head + GgufFile::info("tensor of it", {1}, 0, 0), "");
  file.resize((file.size() + 7) / 8 * 8, '\0');
  ASSERT_NE(file.size() % 32, 0u);
  auto opened = openBytes(file + GgufFile::number(2.0f));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->tensors()[0].bytes.size(), 4u);
}

TEST(Gguf, MissingAndOtherValuesAreNamed) {
  auto file = openBytes(all().bytes());
  ASSERT_TRUE(file);
  auto found = [](const auto &result) {
    return result.error().message.substr(result.error().message.find(".gguf: ") + 7);
  };
  EXPECT_EQ(found(file->text("u8")), "u8: expected a text, found 255");
  EXPECT_EQ(found(file->text("missing")), "missing: expected a text, found none");
  EXPECT_EQ(found(file->texts("numbers")),
            "numbers: expected a list of texts, found a list of 2 numbers");
  EXPECT_EQ(found(file->numbers("texts")),
            "texts: expected a list of numbers, found a list of 3 texts");
  EXPECT_EQ(found(file->integer("text")), "text: expected an integer, found 'hé\\x0a'");
  EXPECT_EQ(found(file->flag("f32", true)), "f32: expected true or false, found 1.5");
  EXPECT_EQ(*file->flag("missing", true), true);
  EXPECT_EQ(*file->integer("missing"), std::nullopt);
}

TEST(Gguf, HostileHeadersAreErrors) {
  const uint64_t huge = UINT64_MAX, many = uint64_t(1) << 60;
  auto file = [](uint32_t version, uint64_t tensors, uint64_t values) {
    return GgufFile::bytes(version, tensors, values, "", "");
  };
  EXPECT_EQ(problem(file(3, 0, 0)), "no error");
  EXPECT_EQ(problem(""), "expected a GGUF file, found other bytes");
  EXPECT_EQ(
      problem("version https://git-lfs.github.com"),
      "expected a GGUF file, found a pointer of Git LFS, which `git lfs pull` replaces by the "
      "file");
  EXPECT_EQ(problem("GGUF\3"), "version: expected 4 bytes, found 1 before the end of the file");
  EXPECT_EQ(problem(file(1, 0, 0)), "version: expected 2 or 3, found 1");
  EXPECT_EQ(problem(file(4, 0, 0)), "version: expected 2 or 3, found 4");
  EXPECT_EQ(problem(file(3 << 24, 0, 0)),
            "version: expected 2 or 3, found a file in big-endian order, which is not supported");
  EXPECT_EQ(problem(file(3, huge, 0)),
            "number of tensors: expected at most 0, which the file has room for, found "
            "18446744073709551615");
  EXPECT_THAT(problem(file(3, 0, many)), HasSubstr("number of values: expected at most 0"));
  EXPECT_THAT(problem(GgufFile::bytes(3, 0, 2, value("k", GgufType::U8, "\1"), "")),
              HasSubstr("number of values: expected at most 1"));
}

TEST(Gguf, HostileValuesAreErrors) {
  const std::string one = number64(1), much = number64(uint64_t(1) << 60);
  EXPECT_EQ(problem(withValue(GgufType::U8, "\1")), "no error");
  EXPECT_EQ(problem(withValue(GgufType::Bool, "\2")), "k: expected a boolean of 0 or 1, found 2");
  EXPECT_EQ(problem(withValue(static_cast<GgufType>(13), "\1")),
            "k: expected a type of a value below 13, found 13");
  EXPECT_EQ(problem(withValue(GgufType::Text, much + "abc")),
            "k: expected 1152921504606846976 bytes, found 3 before the end of the file");
  EXPECT_EQ(problem(withValue(GgufType::List, GgufFile::type(GgufType::List) + one)),
            "k: expected a list of numbers, booleans or texts, found a list of lists, which is not "
            "supported");
  EXPECT_EQ(problem(withValue(GgufType::List, GgufFile::type(GgufType::U8) + much + "abc")),
            "k: number of elements: expected at most 3, which the file has room for, found "
            "1152921504606846976");
  EXPECT_THAT(problem(withValue(GgufType::List, GgufFile::type(GgufType::F64) +
                                                    number64(uint64_t(1) << 61) + "abcdefgh")),
              HasSubstr("expected at most 1,"));
  EXPECT_THAT(problem(withValue(GgufType::List, GgufFile::type(GgufType::Text) + one + much)),
              HasSubstr("k: expected 1152921504606846976 bytes"));
  EXPECT_EQ(problem(GgufFile::bytes(3, 0, 1, value("", GgufType::U8, "\1abc"), "")),
            "expected a key with a name, found an empty one");
  const std::string twice = value("a\n", GgufType::U8, "\1");
  EXPECT_EQ(problem(GgufFile::bytes(3, 0, 2, twice + twice, "")),
            "a\\x0a: expected each key once, found it twice");
  EXPECT_THAT(problem(GgufFile::bytes(3, 0, 1, much + "abcdefgh", "")),
              HasSubstr("key 0: expected 1152921504606846976 bytes"));
  for (uint32_t alignment : {0u, 24u, 1u << 31})
    EXPECT_THAT(problem(GgufFile().add("general.alignment", alignment).bytes()),
                HasSubstr("general.alignment: expected a power of two up to 1048576, found " +
                          std::to_string(alignment)));
}

TEST(Gguf, HostileTensorsAreErrors) {
  const std::string data(64, '\0');
  auto info = GgufFile::info;
  EXPECT_EQ(problem(withTensor(info("t", {16}, 0, 0), data)), "no error");
  EXPECT_EQ(problem(withTensor(info("t", {16}, 0, 32), data)),
            "t: expected 64 bytes at 32 within 64 bytes of data, found the end of the file");
  EXPECT_THAT(problem(withTensor(info("t", {1}, 0, UINT64_MAX - 31), data)),
              HasSubstr("t: expected 4 bytes at 18446744073709551584"));
  EXPECT_EQ(problem(withTensor(info("t", {1}, 0, 4), data)),
            "t: expected an offset that is a multiple of 32, found 4");
  EXPECT_EQ(problem(withTensor(info("t", {1, 1, 1, 1, 1}, 0, 0), data)),
            "t: expected at most 4 dimensions, found 5");
  for (uint64_t extent : {uint64_t(1) << 32, uint64_t(1) << 62, UINT64_MAX})
    EXPECT_THAT(problem(withTensor(info("t", {extent, extent}, 0, 0), data)),
                HasSubstr("t: expected dimensions above 0 that fit in the file, found"));
  EXPECT_EQ(problem(withTensor(info("t", {uint64_t(1) << 54, 1 << 20, 0}, 0, 0), data)),
            "t: expected dimensions above 0 that fit in the file, found 0");
  EXPECT_EQ(problem(withTensor(info("t", {2, 16}, 2, 0), data)),
            "t: expected rows of whole blocks of 32 elements of q4_0, found 16 elements");
  EXPECT_EQ(problem(withTensor(info("", {1}, 0, 0), data)),
            "tensor 0: expected a name of 1 to 1000 bytes, found one of 0");
  EXPECT_EQ(problem(withTensor(info("t", {8}, 0, 0) + info("t", {8}, 0, 32), data, 2)),
            "t: expected each tensor once, found it twice");
  EXPECT_EQ(problem(withTensor(info("b", {8}, 0, 32) + info("a", {16}, 0, 0), data, 2)),
            "b: expected data from byte 64 on, where the tensor before it ends, found 32");
  // An unknown type is listed, and rejected when it is read.
  auto unknown = openBytes(withTensor(info("t", {16}, 4, 0), data));
  ASSERT_TRUE(unknown) << unknown.error().message;
  EXPECT_EQ(unknown->tensors()[0].type, "type 4");
}

/// A file truncated anywhere is an error, or lacks only bytes that pad the last tensor. A file with
/// any changed byte does not crash the reader.
TEST(Gguf, FilesCutAnywhere) {
  GgufFile small;
  small.add("t", "ab")
      .add("l", std::vector<std::string>{"c", ""})
      .addNumbers<int8_t>("n", GgufType::I8, {1});
  small.tensor("a", {1, 1}, {1}).tensor("b", {32}, 8, std::string(34, '\1'));
  const std::string whole = small.bytes();
  const size_t end = whole.size() - (64 - 34);
  TemporaryFolder folder;
  auto open = [&](const std::string &bytes) { return Gguf::open(folder.write("m.gguf", bytes)); };
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(static_cast<bool>(open(whole.substr(0, size))), size >= end) << size;
  for (size_t at = 0; at < end; ++at)
    for (char byte : {'\0', '\xff'}) {
      std::string other = whole;
      other[at] = byte;
      if (auto file = open(other))
        for (const auto &[key, value] : file->metadata()) {
          value.texts();
          value.numbers();
          EXPECT_FALSE(value.shown().empty());
        }
    }
}

//===- Which files they are -----------------------------------------------===//

TEST(Gguf, FilesAreKnownByTheirFirstBytes) {
  TemporaryFolder folder;
  const std::string bytes = GgufFile().bytes();
  for (const char *name : {"sha256-0a1b", "model.GGUF", "m.gguf"})
    EXPECT_TRUE(isGguf(folder.write(name, bytes))) << name;
  EXPECT_TRUE(isGguf(folder.write("broken.gguf", "x"))); // reading it reports the error
  EXPECT_FALSE(isGguf(folder.write("model.bin", "GGU")));
  EXPECT_FALSE(isGguf(folder.path().string()));
  std::filesystem::create_symlink("sha256-0a1b", folder / "link");
  EXPECT_TRUE(isGguf(folder / "link"));
}

TEST(Gguf, AFolderMeansTheFileInIt) {
  TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(*modelPath(path), path);
  EXPECT_EQ(*modelPath("no such"), "no such");
  const std::string one = folder.write("b", GgufFile().bytes());
  folder.write("notes.txt", "x");
  EXPECT_EQ(*modelPath(path), one);
  folder.write("a.gguf", GgufFile().bytes());
  auto several = modelPath(path);
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().message,
            path + ": expected one GGUF file in a folder without config.json, found "
                   "a.gguf, b: name the one that is meant");
  folder.write("config.json", "{}");
  EXPECT_EQ(*modelPath(path), path);
}

//===- Tokens -------------------------------------------------------------===//

std::vector<int64_t> endsOf(const std::vector<std::string> &tokens, GgufFile file = {}) {
  auto gguf = openBytes(file.add("tokenizer.ggml.tokens", tokens).bytes());
  auto vocabulary = gguf ? GgufVocabulary::read(*gguf) : Expected<GgufVocabulary>(gguf.takeError());
  EXPECT_TRUE(vocabulary) << vocabulary.error().message;
  return vocabulary ? vocabulary->ends : std::vector<int64_t>();
}

TEST(GgufVocabulary, EndsGoByKeysAndNames) {
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(endsOf({"a", "b"}), Ids());
  EXPECT_EQ(endsOf({"a", "<|end|>", "</s>", "<|user|>"}), (Ids{1, 2}));
  EXPECT_EQ(endsOf({"<|im_end|>", "a", "b"}, GgufFile().add("tokenizer.ggml.eos_token_id", 2u)),
            (Ids{2, 0}));
  EXPECT_EQ(endsOf({"a", "b"}, GgufFile().add("tokenizer.ggml.fim_pad_token_id", 1u)), Ids{1});
  EXPECT_EQ(endsOf({"a", "<PAD>", "<|fim_pad|>"}), Ids{1}); // the first of these names
  EXPECT_EQ(endsOf({"<|fim_prefix|>", "<|file_sep|>"}), Ids{1});
}

TEST(GgufVocabulary, SomeNamesMeanAnotherThingTogether) {
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(endsOf({"<|end|>", "<|return|>", "<|call|>"}), (Ids{1, 2}));
  EXPECT_EQ(endsOf({"<|end|>", "<|flush|>", "<|calls|>"}), (Ids{1, 2}));
  EXPECT_EQ(endsOf({"<|end|>", "<|return|>"}), (Ids{0, 1}));
  EXPECT_EQ(endsOf({"</s>", "<|tool_response>"}), Ids{1});
}

/// The name determines the kind of a token, whatever its kind in the file.
TEST(GgufVocabulary, NamesRuleOverKinds) {
  const std::vector<std::string> tokens{"<|im_end|>", "<|channel|>", "a"};
  auto gguf = openBytes(GgufFile().add("tokenizer.ggml.tokens", tokens).bytes());
  ASSERT_TRUE(gguf);
  auto vocabulary = GgufVocabulary::read(*gguf);
  ASSERT_TRUE(vocabulary);
  EXPECT_EQ(vocabulary->kinds, (std::vector{GgufTokenKind::Control, GgufTokenKind::UserDefined,
                                            GgufTokenKind::Normal}));
}

} // namespace
