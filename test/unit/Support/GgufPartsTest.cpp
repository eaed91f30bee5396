//===- GgufPartsTest.cpp - GGUF models in several files -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes parts whose keys, names or tensors can be wrong.

#include "GgufFile.h"
#include "TemporaryFolder.h"

#include <gmock/gmock.h>

using namespace heddle;
using namespace heddle::test;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

namespace {

/// Keys and tensors of a part of a model with three parts and four tensors.
struct Part {
  uint32_t number, count = 3, tensors = 4;
  std::vector<std::string> names;
  std::string architecture;

  std::string bytes() const {
    GgufFile file;
    file.add("split.no", number).add("split.count", count).add("split.tensors.count", tensors);
    if (!architecture.empty())
      file.add("general.architecture", architecture);
    for (const std::string &name : names)
      file.tensor(name, {1}, {static_cast<float>(number)});
    return file.bytes();
  }
};

class GgufParts : public testing::Test {
protected:
  GgufParts() {
    write(0, {.number = 0, .names = {"a", "b"}, .architecture = "llama"});
    write(1, {.number = 1, .names = {"c"}});
    write(2, {.number = 2, .names = {"d"}});
  }
  std::string path(int part) const {
    return folder / ("m-0000" + std::to_string(part + 1) + "-of-00003.gguf");
  }
  void write(int part, const Part &content) {
    folder.write("m-0000" + std::to_string(part + 1) + "-of-00003.gguf", content.bytes());
  }
  std::string problem(int part = 0) const {
    auto file = Gguf::open(path(part));
    return file ? "no error" : file.error().message;
  }

  TemporaryFolder folder;
};

TEST_F(GgufParts, AnyPartNamesTheModel) {
  for (int part : {0, 1, 2}) {
    auto file = Gguf::open(path(part));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->name(), path(0));
    std::vector<std::string> names;
    for (const GgufTensor &tensor : file->tensors())
      names.push_back(tensor.name);
    EXPECT_THAT(names, ElementsAre("a", "b", "c", "d"));
    float last = 0;
    std::memcpy(&last, file->tensors().back().bytes.data(), sizeof last);
    EXPECT_EQ(last, 2);
    EXPECT_EQ(*file->text("general.architecture"), "llama");
  }
  EXPECT_EQ(*modelPath(folder.path().string()), path(0));
  EXPECT_THAT(ggufParts(path(1)), ElementsAre(path(0), path(1), path(2)));
}

TEST_F(GgufParts, ProblemsNameTheFile) {
  std::filesystem::remove(path(1));
  EXPECT_EQ(problem(), path(1) + ": expected part 2 of 3 of a model, found no such file");
  write(1, {.number = 0, .names = {"c"}});
  EXPECT_EQ(problem(), path(1) + ": split.no: expected 1 in this part of a model, found 0");
  write(1, {.number = 1, .count = 2, .names = {"c"}});
  EXPECT_EQ(problem(), path(1) + ": split.count: expected 3 in this part of a model, found 2");
  write(1, {.number = 1, .tensors = 5, .names = {"c"}});
  EXPECT_EQ(problem(),
            path(1) + ": split.tensors.count: expected 4 in this part of a model, found 5");
  write(1, {.number = 1, .names = {"b"}});
  EXPECT_EQ(problem(), path(1) + ": b: expected each tensor in one part, found it in two");
  write(1, {.number = 1, .names = {"c", "e"}});
  EXPECT_EQ(problem(2),
            path(0) + ": split.tensors.count: expected 5, the tensors of all parts, found 4");
  write(1, {.number = 1, .names = {"c"}, .architecture = "bert"});
  EXPECT_THAT(problem(), HasSubstr("00002-of-00003.gguf: general.architecture: expected "
                                   "'llama' as in the first part"));
}

TEST_F(GgufParts, APartHasTheNameOfOne) {
  const Part part{.number = 0, .names = {"a"}};
  for (const char *name : {"m.gguf", "m-00001-of-00002.gguf", "m-1-of-3.gguf"}) {
    auto file = Gguf::open(folder.write(name, part.bytes()));
    ASSERT_FALSE(file) << name;
    EXPECT_THAT(file.error().message, HasSubstr("split.count: expected "));
    EXPECT_THAT(file.error().message, EndsWith("found 3"));
  }
  EXPECT_THAT(ggufParts("m-00004-of-00003.gguf"), ElementsAre("m-00004-of-00003.gguf"));
}

} // namespace
