//===- ScratchFolder.h - Files of one test ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder of its own for each process: tests that run at once do not meet in it.
#pragma once

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace heddle {

struct ScratchFolder : testing::Test {
  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("heddle-scratch-" + std::to_string(getpid()));
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  static std::string read(const std::filesystem::path &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  auto files() { return std::distance(std::filesystem::directory_iterator(folder), {}); }
};

} // namespace heddle
