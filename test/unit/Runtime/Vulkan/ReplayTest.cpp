//===- ReplayTest.cpp - Recordings that run again ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call whose commands equal those of an earlier one submits its recording
// again. Calls with other sizes or other memory are recorded anew.
#include "TemporaryFolder.h"
#include "Toy.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {
class ReplayTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!hasVulkan())
      GTEST_SKIP() << "no Vulkan device or no glslangValidator";
  }
  /// A session whose device has started its clock, under the limits of the test.
  Session open(const Program &program = toyProgram()) {
    limits.emplace("HEDDLE_VULKAN_LIMITS", GetParam());
    auto session = Session::fromArtifact(toyArtifact(program), {.device = "vulkan"});
    EXPECT_TRUE(session) << session.error().message;
    return std::move(*session);
  }
  /// Triples `rows` rows that begin with `first`. Returns whether the call was replayed.
  static bool triples(Session &session, int64_t rows, float first) {
    Tensor x = counting({1, rows, 20}, first);
    auto outputs = session.run("triple", {{"x", x}});
    EXPECT_TRUE(outputs) << outputs.error().message;
    for (int64_t i = 0; outputs && i < x.size(); ++i)
      EXPECT_EQ((*outputs)["y"].values<float>()[static_cast<size_t>(i)],
                3 * x.values<float>()[static_cast<size_t>(i)]);
    const std::optional<CallTime> time = session.callTime();
    return time && time->isReplayed;
  }
  static void startClock(Session &session) {
    NamedTensors outputs;
    std::vector<LaunchTime> times;
    EXPECT_TRUE(session.runTimed("triple", {{"x", counting({1, 5, 20})}}, outputs, times));
  }

  std::optional<ScopedVariable> limits;
};
INSTANTIATE_TEST_SUITE_P(Memory, ReplayTest, testing::Values("halves=1", "staging=1"));
} // namespace

TEST_P(ReplayTest, EqualCallsWithOtherValues) {
  Session session = open();
  EXPECT_FALSE(session.callTime());
  startClock(session);
  EXPECT_FALSE(triples(session, 5, 1)); // the timed call had stamps
  for (float first : {2, 3, 4})
    EXPECT_TRUE(triples(session, 5, first));
  const CallTime time = *session.callTime();
  EXPECT_GT(time.device, 0);
  EXPECT_GT(time.recording, 0);
  EXPECT_GE(time.waking(), 0);
  EXPECT_GE(time.barriers, 1);
}

TEST_P(ReplayTest, OtherSizesAreRecorded) {
  Session session = open();
  startClock(session);
  for (int round = 0; round < 3; ++round)
    for (int64_t rows : {3, 4})
      EXPECT_EQ(triples(session, rows, static_cast<float>(round)), round > 0) << rows;
  for (int64_t rows = 5; rows < 12; ++rows) // more shapes than are kept
    EXPECT_FALSE(triples(session, rows, 1));
  EXPECT_FALSE(triples(session, 3, 1));
  EXPECT_TRUE(triples(session, 3, 2));
}

TEST_P(ReplayTest, GrownMemoryIsRecorded) {
  Session session = open();
  startClock(session);
  triples(session, 3, 1);
  EXPECT_TRUE(triples(session, 3, 2));
  triples(session, 20'000, 1); // planned memory grows
  EXPECT_FALSE(triples(session, 3, 3));
  triples(session, 3, 4);
  EXPECT_TRUE(triples(session, 3, 5));
}

TEST_P(ReplayTest, TimedCallsBetweenOthers) {
  Session session = open();
  for (int round = 0; round < 3; ++round) {
    startClock(session);
    EXPECT_EQ(triples(session, 5, 1), round > 0);
  }
}
