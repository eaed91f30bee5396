//===- TwoLevels.h - A model at two levels of a Vulkan device ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the results of sessions of one model at level 0 and at a higher level.
#pragma once

#include "LinearModel.h"
#include "ScopedVariable.h"

#include <functional>

namespace heddle::test {

class TwoLevels {
protected:
  /// Opens sessions of `code` at level 0 and at `level`, and calls `look` with the compiled
  /// program. Skips the test if the device lacks the level.
  void openLevels(const LinearModel &weights, const std::string &dtype, const std::string &code,
                  int level, const std::function<void(const Program &)> &look) {
    for (int wanted : {0, level}) {
      auto artifact = weights.compile(dtype, "vulkan", code);
      ASSERT_TRUE(artifact) << artifact.error().message;
      if (wanted == level)
        look(artifact->program());
      auto session =
          Session::fromArtifact(std::move(*artifact), {.device = "vulkan", .vulkanLevel = wanted});
      if (!session && isMissingLevel(session.error()))
        GTEST_SKIP() << session.error().message;
      ASSERT_TRUE(session) << session.error().message;
      sessions.push_back(std::move(*session));
    }
  }

  // Drivers for the processor emulate packed dot products; this limit enables them for the test.
  ScopedVariable limits{"HEDDLE_VULKAN_LIMITS", "dots=1"};
  std::vector<Session> sessions; ///< at level 0 and the higher one, or fewer
};

} // namespace heddle::test
