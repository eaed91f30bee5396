//===- ScratchFolder.h - Temporary folder of a test ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fixture for tests that count and compare written files.
#pragma once

#include "TemporaryFolder.h"

namespace heddle {

struct ScratchFolder : testing::Test {
  test::TemporaryFolder temporary;
  std::filesystem::path folder = temporary.path();

  static std::string read(const std::filesystem::path &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  auto files() { return std::distance(std::filesystem::directory_iterator(folder), {}); }
};

} // namespace heddle
