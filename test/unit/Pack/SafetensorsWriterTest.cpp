//===- SafetensorsWriterTest.cpp - Writing safetensors files --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TemporaryFolder.h"
#include "heddle/Pack/Safetensors.h"

#include <csignal>
#include <gmock/gmock.h>
#include <sys/resource.h>

using namespace heddle;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

namespace {

const std::vector<TensorInfo> tensors = {{.name = "a.weight", .shape = {2, 3}},
                                         {.name = "a.bias", .shape = {3}},
                                         {.name = "b", .shape = {}}};

class SafetensorsWriterTest : public testing::Test {
protected:
  /// Writes 0, 1, 2, … as the elements of all tensors, in pieces of 4.
  Status writeAll() {
    auto writer = SafetensorsWriter::create(path, tensors, {{"step", "7"}});
    if (!writer)
      return writer.takeError();
    for (const std::vector<float> &piece : {std::vector<float>{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}})
      if (auto status = writer->write(piece); !status)
        return status;
    return writer->commit();
  }

  test::TemporaryFolder folder;
  std::string path = folder / "model.safetensors";
};

TEST_F(SafetensorsWriterTest, FilesAreReadAgain) {
  const Status status = writeAll();
  ASSERT_TRUE(status) << status.error().message;
  auto source = openSafetensors(path);
  ASSERT_TRUE(source) << source.error().message;
  ASSERT_EQ((*source)->tensors().size(), 3U);
  EXPECT_EQ((*source)->tensors()[0].name, "a.weight");
  EXPECT_THAT((*source)->tensors()[0].shape, ElementsAre(2, 3));
  std::vector<float> bias(3);
  (*source)->read((*source)->find("a.bias"), 0, bias);
  EXPECT_THAT(bias, ElementsAre(6, 7, 8));
  EXPECT_FALSE((*source)->inPlace(0).empty()); // aligned
  auto metadata = readMetadata(path);
  ASSERT_TRUE(metadata) << metadata.error().message;
  EXPECT_THAT(*metadata, ElementsAre(Pair("format", "pt"), Pair("step", "7")));
}

TEST_F(SafetensorsWriterTest, EqualTensorsGiveEqualBytes) {
  ASSERT_TRUE(writeAll());
  std::ifstream first(path, std::ios::binary);
  const std::string before(std::istreambuf_iterator<char>(first), {});
  ASSERT_TRUE(writeAll());
  std::ifstream second(path, std::ios::binary);
  EXPECT_EQ(before, std::string(std::istreambuf_iterator<char>(second), {}));
}

/// A file that is not complete does not replace an old one.
TEST_F(SafetensorsWriterTest, IncompleteFilesHaveNoName) {
  folder.write("model.safetensors", "old");
  auto writer = SafetensorsWriter::create(path, tensors, {});
  ASSERT_TRUE(writer) << writer.error().message;
  ASSERT_TRUE(writer->write(std::vector<float>(7)));
  EXPECT_EQ(writer->commit().error().message,
            path + ": expected all elements of the tensors, found 3 fewer");
  EXPECT_EQ(std::filesystem::file_size(path), 3U);
}

TEST_F(SafetensorsWriterTest, FullDisk) {
  folder.write("model.safetensors", "old");
  struct rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const struct rlimit small = {1 << 16, before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  auto writer = SafetensorsWriter::create(
      path, std::vector<TensorInfo>{{.name = "a", .shape = {1 << 16}}}, {});
  const Status status = writer ? writer->write(std::vector<float>(1 << 16)) : Status();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            path + ": expected a path that can be written, found: File too large");
  EXPECT_EQ(std::filesystem::file_size(path), 3U);
}

TEST_F(SafetensorsWriterTest, FoldersThatAreMissing) {
  auto writer = SafetensorsWriter::create(folder / "none/model.safetensors", tensors, {});
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr("No such file or directory"));
}

TEST_F(SafetensorsWriterTest, MetadataOfOtherFiles) {
  EXPECT_THAT(readMetadata(folder.write("x", "abc")).error().message,
              HasSubstr("expected a safetensors file, found 3 bytes"));
}

} // namespace
