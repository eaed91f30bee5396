//===- SessionStatesTest.cpp - Caches between calls -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests steps, capacity, reordering, and rows of each sequence.
#include "Toy.h"

#include <gmock/gmock.h>

using namespace heddle;
using namespace heddle::test;
using testing::ElementsAre;

namespace {
class StatesTest : public DeviceTest {
protected:
  /// Runs a step whose rows are filled with `values`. Returns the first element of each row; on
  /// failure sets `error`.
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
  EXPECT_THAT(step(session, {0, 1}, {0, 1}), ElementsAre(0, 5)); // zeros: the first row is idle
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

namespace {
class MemoryTest : public DeviceTest {
protected:
  /// Fills rows with S equal lines each: `values[row]`, plus 100 in the second matrix.
  static Tensor filled(const std::vector<float> &values, int64_t s) {
    Tensor x(DType::F32, {std::ssize(values), 2, s, 16});
    for (int64_t n = 0; n < x.size(); ++n)
      x.values<float>()[n] = values[n / (2 * s * 16)] + 100.0f * (n / (s * 16) % 2);
    return x;
  }
  std::string fill(Session &session, const std::vector<float> &values, int64_t s,
                   std::optional<std::vector<int32_t>> rows = {}) {
    NamedTensors none;
    const Tensor x = filled(values, s);
    NamedInputs inputs = {{"x", x}};
    const Tensor numbers =
        rows ? ints({std::ssize(*rows)}, *rows) : ints({0}, std::vector<int32_t>{});
    if (rows)
      inputs.emplace_back("rows", numbers);
    Status done = session.run("fill", inputs, none);
    return done ? "" : done.error().message;
  }
  /// The first number of line `line` of each matrix, which is 4 times the filled value.
  std::vector<float> show(Session &session, int64_t line) {
    auto outputs = session.run("show", {});
    EXPECT_TRUE(outputs) << outputs.error().message;
    const Tensor &y = (*outputs)["y"];
    std::vector<float> found;
    for (int64_t matrix = 0; matrix < y.dim(0) * 2; ++matrix)
      found.push_back(y.values<float>()[(matrix * y.dim(2) + line) * 16 + 15] / 4);
    return found;
  }
};
INSTANTIATE_ON_DEVICES(MemoryTest);
} // namespace

TEST_P(MemoryTest, AStartReplacesRows) {
  Session session = open({}, memoryProgram());
  EXPECT_EQ(fill(session, {1}, 3, {{0}}),
            "fill: expected a call of fill without rows before it, found none");
  EXPECT_EQ(fill(session, {1, 2, 3}, 3), "");
  EXPECT_EQ(fill(session, {5}, 2, {{1}}), "");
  EXPECT_THAT(show(session, 1), ElementsAre(1, 101, 5, 105, 3, 103));
  EXPECT_THAT(show(session, 2), ElementsAre(1, 101, 2, 102, 3, 103)); // row 5 has no third line
  EXPECT_EQ(session.stateDim("S"), 3);
  EXPECT_EQ(fill(session, {7, 8}, 40, {{2, 0}}), ""); // all rows grow
  EXPECT_EQ(session.stateDim("S"), 40);
  EXPECT_EQ(session.stateDim("B"), 3);
  EXPECT_THAT(show(session, 0), ElementsAre(8, 108, 5, 105, 7, 107));
  EXPECT_THAT(show(session, 1), ElementsAre(8, 108, 5, 105, 7, 107));
  EXPECT_EQ(fill(session, {}, 50, {{}}), "");
  EXPECT_THAT(show(session, 1), ElementsAre(8, 108, 5, 105, 7, 107));
  EXPECT_EQ(fill(session, {4}, 2), ""); // without rows, all rows restart
  EXPECT_THAT(show(session, 1), ElementsAre(4, 104));
}

TEST_P(MemoryTest, RowsThatBecomeEmptyAreZero) {
  Session session = open({}, memoryProgram());
  EXPECT_EQ(fill(session, {1, 2}, 3), "");
  NamedTensors none;
  ASSERT_TRUE(session.run("permute", {{"parents", ints({4}, {1, -1, 0, -1})}}, none));
  EXPECT_THAT(show(session, 2), ElementsAre(2, 102, 0, 0, 1, 101, 0, 0));
  EXPECT_EQ(fill(session, {6}, 3, {{3}}), "");
  EXPECT_THAT(show(session, 2), ElementsAre(2, 102, 0, 0, 1, 101, 6, 106));
}

TEST_P(MemoryTest, RefusedRowsChangeNothing) {
  Session session = open({}, memoryProgram());
  EXPECT_EQ(fill(session, {1, 2}, 3), "");
  EXPECT_EQ(fill(session, {9}, 30, {{2}}), "rows: expected values in [0, 2), found 2 at [0]");
  EXPECT_EQ(fill(session, {9, 9}, 3, {{0, -1}}),
            "rows: expected values in [0, 2), found -1 at [1]");
  EXPECT_EQ(fill(session, {9, 9}, 3, {{1, 1}}),
            "rows: expected each row once, found 1 again at [1]");
  EXPECT_EQ(fill(session, {9, 9}, 3, {{1}}), "rows: dimension 0 (B): expected 2 as in x, found 1");
  EXPECT_THAT(show(session, 2), ElementsAre(1, 101, 2, 102));
  Program strict = memoryProgram();
  strict.functions[0].pads.clear();
  Session other = open({}, std::move(strict));
  EXPECT_EQ(fill(other, {1, 2}, 3), "");
  EXPECT_EQ(fill(other, {9}, 2, {{0}}), "x: dimension 2 (S): expected 3 as in the caches, found 2");
  EXPECT_EQ(fill(other, {9}, 3, {{0}}), "");
  EXPECT_THAT(show(other, 2), ElementsAre(9, 109, 2, 102));
}
