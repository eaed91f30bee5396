//===- OutputFileTest.cpp - Files appear whole or not at all --------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writing beside the place and renaming, and what is left after a failure.
//
//===----------------------------------------------------------------------===//

#include "heddle/Support/OutputFile.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace heddle;
namespace fs = std::filesystem;

namespace {

struct OutputFile : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / ("heddle-output-" + std::to_string(getpid()));
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  std::string read(const fs::path &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

} // namespace

TEST_F(OutputFile, ReplacesWhatWasThere) {
  std::string path = folder / "page.html";
  ASSERT_TRUE(writeOutput(path, "one"));
  ASSERT_TRUE(writeOutput(path, "two"));
  EXPECT_EQ(read(path), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(OutputFile, AFolderThatIsNotThereIsTheInputsFault) {
  Status status = writeOutput(folder / "nowhere" / "page.html", "one");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::Input);
  EXPECT_NE(status.error().message.find("page.html: expected a path that can be written"),
            std::string::npos);
}

TEST_F(OutputFile, AFolderIsNotOverwritten) {
  fs::create_directories(folder / "page");
  EXPECT_FALSE(writeOutput(folder / "page", "one"));
  EXPECT_TRUE(fs::is_directory(folder / "page"));
}
