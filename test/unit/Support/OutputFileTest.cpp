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

#include "ScratchFolder.h"

#include "heddle/Support/OutputFile.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace heddle;
namespace fs = std::filesystem;

namespace {
using OutputFileTest = ScratchFolder;
} // namespace

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
