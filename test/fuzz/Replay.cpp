//===- Replay.cpp - Runs a reader over the kept inputs ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: heddle-fuzz-replay TARGET FOLDER. Hands every file of the folder to the
// reader; one that crashes, hangs or breaks a promise fails the test. The fuzzers
// that found these inputs: CONTRIBUTING.md.
#include "Targets.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

int main(int argc, char **argv) {
  const auto *target = std::ranges::find(heddle::fuzz::targets, argc == 3 ? argv[1] : "",
                                         &heddle::fuzz::Target::name);
  if (target == std::ranges::end(heddle::fuzz::targets)) {
    std::fprintf(stderr, "usage: heddle-fuzz-replay TARGET FOLDER\n");
    return 2;
  }
  std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(argv[2]), {});
  std::ranges::sort(files);
  for (const auto &path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    std::fprintf(stderr, "%s\n", path.filename().c_str()); // the last one named is the one at fault
    target->read(bytes);
  }
  std::printf("%s: %zu inputs\n", argv[1], files.size());
  return files.empty() ? 1 : 0;
}
