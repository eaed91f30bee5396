//===- OutputFileTest.cpp - Atomic writing of files ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests writing to a temporary file and renaming it, and the state after a
// failure. Heddle writes all files in this way, so permissions, links and, on
// failure, the old file are always preserved.

#include "ScratchFolder.h"

#include "heddle/Support/OutputFile.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace heddle;
namespace fs = std::filesystem;

namespace {
using AtomicFileTest = ScratchFolder;
using OutputFileTest = ScratchFolder;
} // namespace

TEST_F(AtomicFileTest, TheOldFileStaysUntilTheNewOneIsWhole) {
  fs::path path = folder / "file";
  ASSERT_TRUE(replaceFile(path, "old"));
  {
    auto abandoned = AtomicFile::create(path);
    ASSERT_TRUE(abandoned && abandoned->write("half"));
    auto other = AtomicFile::create(path); // by the same process, at the same time
    ASSERT_TRUE(other && other->write("new"));
    EXPECT_EQ(read(path), "old");
    ASSERT_TRUE(other->commit());
  }
  EXPECT_EQ(read(path), "new");
  EXPECT_EQ(files(), 1);
}

/// A killed process had the same id (always 1 in a container) and left files with its names.
TEST_F(AtomicFileTest, NamesThatOthersLeftAreNoObstacle) {
  const std::string before = (folder / "file").string() + "." + std::to_string(getpid()) + ".";
  for (int serial = 0; serial < 100; ++serial)
    std::ofstream(before + std::to_string(serial) + ".part") << "left";
  EXPECT_TRUE(replaceFile(folder / "file", "new"));
  EXPECT_TRUE(replaceFile(folder / "file", "newer"));
  EXPECT_EQ(read(folder / "file"), "newer");
  EXPECT_EQ(files(), 101);
}

/// A signal handler removes unfinished files, and a killed process leaves none.
TEST_F(AtomicFileTest, AnUnfinishedFileLeavesNothing) {
  auto file = AtomicFile::create(folder / "file");
  ASSERT_TRUE(file && file->write("half"));
  removeUnfinishedFiles();
  EXPECT_EQ(files(), 0);
}

TEST_F(AtomicFileTest, LongNames) {
  constexpr size_t longest = 255;
  const fs::path path = folder / std::string(longest, 'n');
  EXPECT_TRUE(replaceFile(path, "old") && replaceFile(path, "new"));
  EXPECT_EQ(read(path), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, PermissionsAreKept) {
  fs::path path = folder / "file";
  for (fs::perms mode : {fs::perms(0600), fs::perms(0664), fs::perms(0755)}) {
    ASSERT_TRUE(replaceFile(path, "old"));
    fs::permissions(path, mode);
    ASSERT_TRUE(replaceFile(path, "new"));
    EXPECT_EQ(fs::status(path).permissions(), mode);
  }
}

TEST_F(AtomicFileTest, LinksAreFollowed) {
  fs::create_directories(folder / "there");
  fs::create_symlink("there/file", folder / "link");
  fs::create_symlink("link", folder / "second");
  for (const char *text : {"made", "replaced"}) { // the file does not exist at first
    ASSERT_TRUE(replaceFile(folder / "second", text));
    EXPECT_EQ(read(folder / "there" / "file"), text);
    EXPECT_TRUE(fs::is_symlink(folder / "second") && fs::is_symlink(folder / "link"));
  }
  fs::create_symlink("round", folder / "round");
  EXPECT_THAT(replaceFile(folder / "round", "x").error().message,
              testing::HasSubstr("round: expected a path that can be written, found: "));
  EXPECT_TRUE(fs::is_symlink(folder / "round"));
}

TEST_F(AtomicFileTest, PlacesThatCannotBe) {
  EXPECT_THAT(replaceFile(folder / "none" / "file", "x").error().message,
              testing::HasSubstr("none/file: expected a path that can be written, found: No such"));
  EXPECT_THAT(replaceFile(folder, "x").error().message,
              testing::HasSubstr("expected a file or a new path, found a directory"));
  EXPECT_EQ(replaceFile("/dev/null", "x").error().message,
            "/dev/null: expected a file or a new path, found a device or a pipe");
}

TEST_F(AtomicFileTest, AFullDiskLeavesNothing) {
  ASSERT_TRUE(replaceFile(folder / "file", "old"));
  rlimit before{}, small{};
  getrlimit(RLIMIT_FSIZE, &before);
  small = {100, before.rlim_max};
  std::signal(SIGXFSZ, SIG_DFL); // a program that embeds Heddle does not ignore it
  setrlimit(RLIMIT_FSIZE, &small);
  Status status = replaceFile(folder / "file", std::string(1000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, testing::HasSubstr("file: expected a path that can be"));
  EXPECT_EQ(read(folder / "file"), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, ReplacesWhatWasThere) {
  std::string path = folder / "page.html";
  ASSERT_TRUE(writeOutput(path, "one"));
  ASSERT_TRUE(writeOutput(path, "two"));
  EXPECT_EQ(read(path), "two");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, AFolderThatIsNotThereIsTheInputsFault) {
  Status status = writeOutput(folder / "nowhere" / "page.html", "one");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::Input);
  EXPECT_NE(status.error().message.find("page.html: expected a path that can be written"),
            std::string::npos);
}

TEST_F(OutputFileTest, AFolderIsNotOverwritten) {
  fs::create_directories(folder / "page");
  EXPECT_FALSE(writeOutput(folder / "page", "one"));
  EXPECT_TRUE(fs::is_directory(folder / "page"));
}
