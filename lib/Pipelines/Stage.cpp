//===- Stage.cpp - Names of stages and targets ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion of stages and targets to and from names, the values of `--emit` and `--target`.

#include "heddle/Pipelines/Stage.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <array>
#include <string>

namespace heddle {

namespace {

// Indexed by the enums.
constexpr std::array stageNames = {"transformer", "fused", "program", "tiled", "cpu",
                                   "llvm",        "asm",   "gpu",     "spirv", "artifact"};
constexpr std::array targetNames = {"cpu", "vulkan"};

template <typename Enum, size_t n>
Expected<Enum> parse(const std::array<const char *, n> &names, std::string_view what,
                     std::string_view name) {
  std::string known;
  for (size_t i = 0; i < n; ++i) {
    if (name == names[i])
      return static_cast<Enum>(i);
    known += (i ? ", " : "") + std::string(names[i]);
  }
  return usageError("expected a " + std::string(what) + " of " + known + ", found " +
                    quotedText(name));
}

} // namespace

const char *toString(Stage stage) { return stageNames[static_cast<size_t>(stage)]; }
const char *toString(TargetKind target) { return targetNames[static_cast<size_t>(target)]; }

Expected<Stage> parseStage(std::string_view name) {
  return parse<Stage>(stageNames, "stage", name);
}
Expected<TargetKind> parseTarget(std::string_view name) {
  return parse<TargetKind>(targetNames, "target", name);
}

Expected<std::vector<TargetKind>> parseTargets(const std::vector<std::string> &names) {
  std::vector<TargetKind> targets;
  for (const std::string &name : names) {
    TargetKind target = HEDDLE_TRY(parseTarget(name));
    if (std::ranges::find(targets, target) == targets.end())
      targets.push_back(target);
  }
  if (targets.empty())
    return usageError("--target: expected cpu, vulkan, found none");
  return targets;
}

} // namespace heddle
