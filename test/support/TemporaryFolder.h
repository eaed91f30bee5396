//===- TemporaryFolder.h - Temporary folders for tests ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests write files to these folders only, so that concurrent tests do not conflict and nothing
// remains, even if a test fails.
#pragma once

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace heddle::test {

/// A new folder, which is removed with its contents.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = testing::TempDir() + "heddle-test-XXXXXX";
    if (!mkdtemp(name.data())) {
      std::perror(name.c_str());
      std::abort();
    }
    folder = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::filesystem::path &path() const { return folder; }
  /// The path of a file in the folder.
  std::string operator/(std::string_view name) const { return (folder / name).string(); }
  /// Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view content) const {
    std::ofstream(folder / name, std::ios::binary) << content;
    return *this / name;
  }

private:
  std::filesystem::path folder;
};

} // namespace heddle::test
