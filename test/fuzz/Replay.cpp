//===- Replay.cpp - Replays the fuzzing corpus ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: heddle-fuzz-replay TARGET FOLDER. Runs a reader on every file of the folder; a crash, a
// hang or a violated check fails the test. CONTRIBUTING.md describes the fuzzers that found these
// inputs.
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
    std::fprintf(stderr, "%s\n", path.filename().c_str()); // the last name is the failing input
    target->read(bytes);
  }
  std::printf("%s: %zu inputs\n", argv[1], files.size());
  return files.empty() ? 1 : 0;
}
