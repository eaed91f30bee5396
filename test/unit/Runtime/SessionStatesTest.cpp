//===- SessionStatesTest.cpp - Caches between calls -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps, capacity, reorder, rows of each sequence.
#include "Toy.h"

#include <gmock/gmock.h>

using namespace heddle;
using namespace heddle::test;
using testing::ElementsAre;

namespace {
class StatesTest : public DeviceTest {
protected:
  /// Runs a step whose rows are full of `values`; gives the first element of each row, or the
  /// error.
  std::vector<float> step(Session &session, std::vector<float> values,
                          std::vector<int32_t> counts = {}) {
    auto rows = static_cast<int64_t>(values.size());
    Tensor x(DType::F32, {rows, 1, 16});
    for (size_t i = 0; i < values.size() * 16; ++i)
      x.values<float>()[i] = values[i / 16];
    counts.resize(values.size(), 1);
    auto outputs = session.run("step", {{"x", x}, {"counts", ints({rows}, counts)}});
    error = outputs ? "" : outputs.error().message;
    if (!outputs)
      return {};
    lengths = valuesOf<int32_t>((*outputs)["lengths"]);
    std::vector<float> first;
    for (size_t row = 0; row < values.size(); ++row)
      first.push_back((*outputs)["y"].values<float>()[row * 16 + 15]);
    return first;
  }
  void start(Session &session) { ASSERT_TRUE(session.run("start", {{"x", counting({2, 16})}})); }
  Status reorder(Session &session, std::vector<int32_t> parents) {
    auto rows = static_cast<int64_t>(parents.size());
    NamedTensors none;
    return session.run("reorder", {{"parents", ints({rows}, std::move(parents))}}, none);
  }
  std::string error;
  std::vector<int32_t> lengths;
};
INSTANTIATE_ON_DEVICES(StatesTest);
} // namespace

TEST_P(StatesTest, StepsAccumulateUntilTheCapacity) {
  Session session = open();
  step(session, {1});
  EXPECT_EQ(error, "step: expected a call of start before it, found none");
  start(session);
  EXPECT_EQ(session.stateDim("P"), 0);
  for (float total : {1, 2, 3, 4, 5})
    EXPECT_THAT(step(session, {1, 10}), ElementsAre(total, total * 10));
  EXPECT_EQ(session.stateDim("P"), 5);
  step(session, {1, 10});
  EXPECT_EQ(error, "step: expected at most 5 steps, found step 6");
  start(session);
  EXPECT_THAT(step(session, {2, 3}), ElementsAre(2, 3));
}

TEST_P(StatesTest, ABatchThatChangesIsAnError) {
  Session session = open();
  start(session);
  step(session, {1, 2});
  step(session, {1, 2, 3});
  EXPECT_EQ(error, "x: dimension 0 (B): expected 2 as in the caches, found 3");
  EXPECT_THAT(step(session, {1, 2}), ElementsAre(2, 4)); // the error changed nothing
}

TEST_P(StatesTest, ReorderPermutesRowsAndTheBatchMayChange) {
  Session session = open();
  start(session);
  step(session, {1, 2, 3});
  ASSERT_TRUE(reorder(session, {2, 0, 1}));
  EXPECT_THAT(step(session, {0, 0, 0}), ElementsAre(3, 1, 2));
  ASSERT_TRUE(reorder(session, {1, 1, 0, 2, 0, 1, 2}));
  EXPECT_THAT(step(session, {0, 0, 0, 0, 0, 0, 0}), ElementsAre(1, 1, 3, 2, 3, 1, 2));
  ASSERT_TRUE(reorder(session, {3, 2}));
  EXPECT_THAT(step(session, {0, 0}), ElementsAre(2, 3));
  EXPECT_EQ(reorder(session, {0, 2}).error().message,
            "parents: expected values in [-1, 2), found 2 at [1]");
  EXPECT_EQ(session.stateDim("P"), 4);
}

TEST_P(StatesTest, SequencesHaveRowsOfTheirOwnNumber) {
  Session session = open();
  start(session);
  EXPECT_THAT(step(session, {3, 4}), ElementsAre(3, 4));
  step(session, {0, 0}, {2, 1});
  EXPECT_EQ(error, "counts: expected values in [0, 2), found 2 at [0]");
  EXPECT_THAT(step(session, {0, 1}, {0, 1}), ElementsAre(0, 5)); // zeros: the first one is idle
  EXPECT_THAT(lengths, ElementsAre(0, 2));
  step(session, {0, 0}, {1, 1});
  EXPECT_THAT(lengths, ElementsAre(2, 3));
  EXPECT_EQ(session.stateDim("P"), 3);
  ASSERT_TRUE(reorder(session, {1, -1, 0}));
  step(session, {0, 0, 0});
  EXPECT_THAT(lengths, ElementsAre(4, 1, 3));
  step(session, {0, 0, 0});
  EXPECT_THAT(lengths, ElementsAre(5, 2, 4));
  step(session, {0, 0, 0});
  EXPECT_EQ(error, "step: expected at most 5 steps, found step 6");
  step(session, {0, 0, 0}, {0, 1, 1}); // the error changed nothing
  EXPECT_THAT(lengths, ElementsAre(0, 3, 5));
  EXPECT_EQ(reorder(session, {0, -2}).error().message,
            "parents: expected values in [-1, 3), found -2 at [1]");
  start(session);
  step(session, {0, 0});
  EXPECT_THAT(lengths, ElementsAre(1, 1));
}

TEST_P(StatesTest, ClonesHaveCachesOfTheirOwn) {
  Session session = open();
  start(session);
  step(session, {5, 5});
  auto other = session.clone();
  ASSERT_TRUE(other);
  start(*other);
  EXPECT_THAT(step(*other, {1, 1}), ElementsAre(1, 1));
  EXPECT_THAT(step(session, {1, 1}), ElementsAre(6, 6));
}

TEST_P(StatesTest, ScratchMemoryThatGrowsLeavesCachesAlone) {
  Session session = open();
  start(session);
  step(session, {7, 8});
  auto outputs = session.run("triple", {{"x", counting({9, 100, 20})}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(step(session, {0, 0}), ElementsAre(7, 8));
}
