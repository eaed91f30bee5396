//===- ContainerTest.cpp - Tests of the container -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests identical bytes, aligned members, atomic replacement of files,
// detection of every changed byte, and members beyond 4 GiB.

#include "heddle/Support/Container.h"
#include "TemporaryFolder.h"

#include <cstring>
#include <filesystem>
#include <gmock/gmock.h>

using namespace heddle;
using testing::HasSubstr;

namespace {

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

const std::string repeated(500, 'r');

/// Members of each kind, one empty and one page-aligned. In memory, no member is deflated.
ContainerWriter smallContainer() {
  ContainerWriter writer;
  writer.add("heddle.json", bytesOf("{\"heddle\":1}"));
  writer.addDeflated("repeated", bytesOf(repeated));
  writer.addDeflated("short", bytesOf("s"));
  writer.add("empty", bytesOf(""));
  auto fill = [](std::span<std::byte> data) -> Status {
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<std::byte>(i * 7);
    return {};
  };
  writer.add("weights.bin", 300, fill, 4096);
  return writer;
}

std::string smallFile() {
  test::TemporaryFolder folder;
  EXPECT_TRUE(smallContainer().writeFile(folder / "small"));
  return textOf(MappedBytes::openFile(folder / "small")->bytes());
}

/// The error of reading and checking these bytes, or "".
std::string containerProblem(std::string_view file) {
  auto reader = ContainerReader::read(bytesOf(file), "m.heddle");
  if (!reader)
    return reader.error().message;
  return reader->check().error().message;
}

/// Compares the checksum with its definition, bit by bit, for any length and address.
TEST(Container, ChecksumIsTheDefinition) {
  std::vector<std::byte> bytes(1100);
  uint32_t state = 9;
  for (std::byte &byte : bytes)
    byte = static_cast<std::byte>((state = state * 1664525u + 1013904223u) >> 24);
  auto defined = [](std::span<const std::byte> data) {
    uint32_t sum = 0xffffffffu;
    for (std::byte byte : data) {
      sum ^= static_cast<uint32_t>(byte);
      for (int bit = 0; bit < 8; ++bit)
        sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return ~sum;
  };
  EXPECT_EQ(crc32(bytesOf("123456789")), 0xcbf43926u);
  for (size_t size = 0; size < 1000; size += size < 300 ? 1 : 37)
    for (size_t first : {0, 1, 16, 77}) {
      auto part = std::span<const std::byte>(bytes).subspan(first, size);
      ASSERT_EQ(crc32(part), defined(part)) << size << " from " << first;
    }
}

TEST(Container, MembersComeBackAligned) {
  auto memory = smallContainer().writeMemory();
  ASSERT_TRUE(memory);
  auto reader = ContainerReader::read(memory->bytes(), "m.heddle");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE(reader->check());
  ASSERT_EQ(reader->members().size(), 5u);
  EXPECT_EQ(textOf(reader->data(*reader->find("heddle.json"))), "{\"heddle\":1}");
  EXPECT_EQ(reader->find("nothing"), nullptr);
  auto weights = reader->data(*reader->find("weights.bin"));
  EXPECT_EQ(weights.size(), 300u);
  EXPECT_EQ(weights[3], std::byte(21));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(weights.data()) % 4096, 0u);
  for (const ContainerMember &member : reader->members())
    EXPECT_EQ(member.offset % 64, 0u) << member.name;
}

TEST(Container, FileAndMemoryAreTheSameBytes) {
  auto nothingDeflated = [] {
    ContainerWriter writer;
    writer.add("heddle.json", bytesOf("{\"heddle\":1}"));
    writer.add("repeated", bytesOf(repeated), 4096);
    return writer;
  };
  test::TemporaryFolder folder;
  std::string path = folder / "same";
  ASSERT_TRUE(nothingDeflated().writeFile(path));
  EXPECT_EQ(textOf(MappedBytes::openFile(path)->bytes()),
            textOf(nothingDeflated().writeMemory()->bytes()));
}

TEST(Container, FilesHoldDeflatedMembers) {
  test::TemporaryFolder folder;
  std::string path = folder / "small";
  ASSERT_TRUE(smallContainer().writeFile(path));
  auto file = MappedBytes::openFile(path);
  ASSERT_TRUE(file);
  auto reader = ContainerReader::read(file->bytes(), "m.heddle");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE(reader->check());
  const ContainerMember &member = *reader->find("repeated");
  EXPECT_TRUE(member.isDeflated);
  EXPECT_EQ(member.size, 500u);
  EXPECT_LT(member.stored, 50u);
  EXPECT_EQ(textOf(*reader->read(member)), repeated);
  // Members that deflation would lengthen are not deflated, and neither are others unless
  // requested.
  for (const char *name : {"heddle.json", "empty", "short", "weights.bin"})
    EXPECT_FALSE(reader->find(name)->isDeflated) << name;
  EXPECT_EQ(textOf(*reader->read(*reader->find("short"))), "s");
  auto memory = smallContainer().writeMemory();
  auto inMemory = ContainerReader::read(memory->bytes(), "m.heddle");
  ASSERT_TRUE(inMemory);
  EXPECT_EQ(textOf(inMemory->data(*inMemory->find("repeated"))), repeated);
  // Kernels read past the end of the weights, where there must be slack.
  EXPECT_EQ(file->bytes().data()[file->bytes().size() + MappedBytes::slack - 1], std::byte(0));
}

TEST(Container, MemoryGrowsWithItsContents) {
  MappedBytes memory;
  ASSERT_TRUE(memory.grow(100)); // the memory is empty
  memory.writable()[99] = std::byte(7);
  ASSERT_TRUE(memory.grow(5 << 20));
  EXPECT_EQ(memory.bytes().size(), size_t{5 << 20});
  EXPECT_EQ(memory.bytes()[99], std::byte(7));
  EXPECT_EQ(memory.bytes()[(5 << 20) - 1], std::byte(0));
  EXPECT_FALSE(memory.grow(int64_t{1} << 60));
  EXPECT_EQ(memory.bytes()[99], std::byte(7));
}

TEST(Container, MappedBytesBeginAtAHugePage) {
  test::TemporaryFolder folder;
  std::string path = folder / "aligned";
  ASSERT_TRUE(smallContainer().writeFile(path));
  auto file = MappedBytes::openFile(path);
  auto memory = MappedBytes::allocate(3 << 20);
  ASSERT_TRUE(file && memory);
  for (const MappedBytes *bytes : {&*file, &*memory})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes->bytes().data()) % (2 << 20), 0u);
}

/// Whether the file can be read and its deflated member has its original contents.
bool holdsTheSame(const std::string &file) {
  auto reader = ContainerReader::read(bytesOf(file), "m.heddle");
  if (!reader || !reader->find("repeated"))
    return false;
  auto data = reader->read(*reader->find("repeated"));
  return data && textOf(*data) == repeated;
}

/// Some bits of deflated data have no meaning, such as the bits that fill the last byte.
TEST(Container, EveryChangeIsFound) {
  const std::string file = smallFile();
  ASSERT_EQ(containerProblem(file), "");
  int meaningless = 0;
  for (size_t i = 0; i < file.size(); ++i)
    for (int flip : {1, 0x80, 0xff}) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      if (containerProblem(changed).empty() && holdsTheSame(changed))
        ++meaningless;
      else
        ASSERT_THAT(containerProblem(changed), HasSubstr("m.heddle: expected ")) << i;
    }
  EXPECT_LE(meaningless, 6);
}

TEST(Container, EveryOtherLengthIsFound) {
  const std::string file = smallFile();
  for (size_t length = 0; length < file.size(); ++length)
    ASSERT_THAT(containerProblem(file.substr(0, length)), HasSubstr("Heddle file, found "))
        << length;
  EXPECT_EQ(
      containerProblem(file + '\0'),
      "m.heddle: expected a whole, unchanged Heddle file, found other bytes than the directory "
      "of 5 members at byte 4396 (cut off, changed, or with bytes appended)");
  EXPECT_EQ(containerProblem(file.substr(0, 4200)),
            "m.heddle: expected a whole, unchanged Heddle file, found a member weights.bin of 300 "
            "bytes at byte 4096 in a file of 4200");
}

/// A header claims a size that deflation cannot produce from its bytes, or that a reader would not
/// allocate.
TEST(Container, DeflatedMembersLieAboutTheirSize) {
  const std::string file = smallFile();
  const size_t header = file.find("repeated") - 30;
  for (uint32_t size : {0u, 1u, 499u, 501u, 100'000u, 0x10000001u, 0xfffffffeu}) {
    std::string changed = file;
    std::memcpy(&changed[header + 22], &size, 4);
    // The directory has the same size.
    std::memcpy(&changed[changed.rfind("repeated") - 22], &size, 4);
    ASSERT_THAT(containerProblem(changed), HasSubstr("member repeated")) << size;
  }
}

TEST(Container, AMemberTwiceIsFound) {
  ContainerWriter writer;
  writer.add("one", bytesOf("1"));
  writer.add("two", bytesOf("2"));
  std::string file = textOf(writer.writeMemory()->bytes());
  for (size_t i = 0; (i = file.find("two")) != std::string::npos;)
    file.replace(i, 3, "one");
  EXPECT_THAT(containerProblem(file), HasSubstr("found member one twice"));
}

TEST(Container, ForeignFilesAreNamed) {
  EXPECT_EQ(containerProblem(""), "m.heddle: expected a Heddle file, found an empty file");
  EXPECT_EQ(containerProblem("hello\n"), "m.heddle: expected a Heddle file, found text");
  EXPECT_EQ(containerProblem("\x7f"
                             "ELF\2\1"),
            "m.heddle: expected a Heddle file, found an ELF file");
  EXPECT_EQ(containerProblem(std::string("PK\5\6") + std::string(18, '\0')),
            "m.heddle: expected a Heddle file, found an empty ZIP archive");
  std::string other = smallFile();
  other[8] = 12; // the method of the first member
  EXPECT_EQ(containerProblem(other),
            "m.heddle: expected a Heddle file, found another kind of ZIP archive");
}

TEST(Container, HostileHeadersStayInside) {
  // Sets every field of headers, directory and end records to extreme values. None of them may lead
  // outside the file.
  const std::string file = smallFile();
  for (size_t i = 0; i + 4 <= file.size(); ++i)
    for (uint32_t value :
         {0u, 1u, 0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu, 0x0000ffffu}) {
      std::string changed = file;
      std::memcpy(&changed[i], &value, 4);
      bool same = changed == file;
      if (containerProblem(changed).empty())
        ASSERT_TRUE(same || holdsTheSame(changed)) << i << " " << value;
      else
        ASSERT_FALSE(same) << i << " " << value;
    }
}

TEST(Container, AnErrorLeavesTheOldFile) {
  test::TemporaryFolder folder;
  std::string path = folder.write("m.heddle", "old");
  ContainerWriter failing;
  failing.add("a", 1000, [](std::span<std::byte>) -> Status { return inputError("no weights"); });
  EXPECT_EQ(failing.writeFile(path).error().message, "no weights");
  EXPECT_EQ(textOf(MappedBytes::openFile(path)->bytes()), "old");
  EXPECT_TRUE(smallContainer().writeFile(path));
  EXPECT_EQ(textOf(MappedBytes::openFile(path)->bytes()), smallFile());
  // No other file is left.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Container, PathsThatCannotBeWrittenOrRead) {
  EXPECT_THAT(smallContainer().writeFile("/dev/null").error().message,
              HasSubstr("/dev/null: expected a file or a new path, found a device"));
  EXPECT_THAT(smallContainer().writeFile(testing::TempDir()).error().message,
              HasSubstr("found a directory"));
  EXPECT_EQ(
      smallContainer().writeFile("no/such/m.heddle").error().message,
      "no/such/m.heddle: expected a path that can be written, found: No such file or directory");
  EXPECT_THAT(MappedBytes::openFile(testing::TempDir()).error().message, HasSubstr("a directory"));
  EXPECT_THAT(MappedBytes::openFile("no/such").error().message, HasSubstr("No such file"));
}

TEST(Container, BadMembersAreNotWritten) {
  auto problemOf = [](std::string name, uint32_t alignment) {
    ContainerWriter writer;
    writer.add("twice", bytesOf("x"));
    writer.add(std::move(name), bytesOf("x"), alignment);
    return writer.writeMemory().error().message;
  };
  EXPECT_THAT(problemOf("twice", 64), HasSubstr("expected each member once, found twice twice"));
  EXPECT_THAT(problemOf("na\nme", 64), HasSubstr("printable ASCII"));
  EXPECT_THAT(problemOf("", 64), HasSubstr("printable ASCII"));
  EXPECT_THAT(problemOf("name", 48), HasSubstr("a power of two"));
}

TEST(Container, MembersPastFourGigabytes) {
  // Zero pages are shared until they are written, so this needs little memory.
  constexpr uint64_t large = (uint64_t(1) << 32) + 5;
  ContainerWriter writer;
  auto mark = [](std::span<std::byte> data) -> Status {
    data.back() = std::byte(42);
    return {};
  };
  writer.add("large", large, mark);
  writer.add("after", bytesOf("beyond"));
  auto memory = writer.writeMemory();
  ASSERT_TRUE(memory) << memory.error().message;
  auto reader = ContainerReader::read(memory->bytes(), "m.heddle");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->find("large")->size, large);
  EXPECT_EQ(reader->data(*reader->find("large")).back(), std::byte(42));
  EXPECT_EQ(textOf(reader->data(*reader->find("after"))), "beyond");
  EXPECT_TRUE(reader->checkMember(*reader->find("after")));
  // The 64-bit records are compared like all others.
  auto file = memory->writable();
  for (size_t i = reader->find("after")->offset + 6; i < file.size(); ++i) {
    file[i] ^= std::byte(1);
    EXPECT_FALSE(ContainerReader::read(memory->bytes(), "m.heddle")) << file.size() - i;
    file[i] ^= std::byte(1);
  }
}

} // namespace
