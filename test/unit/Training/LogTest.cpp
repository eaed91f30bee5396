//===- LogTest.cpp - The log of a run -------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Training/Log.h"

#include "TemporaryFolder.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace heddle;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

namespace {

/// A run of `count` rows of 10 steps, with a measure in each fifth.
std::vector<LogRow> rowsOf(int64_t count) {
  std::vector<LogRow> rows;
  for (int64_t i = 1; i <= count; ++i) {
    const auto t = static_cast<double>(i) / static_cast<double>(count);
    rows.push_back({.step = i * 10,
                    .epoch = 1 + i / 5,
                    .loss = 4 * std::exp(-4 * t) + 0.1 * std::sin(40 * t) * (1 - t) + 0.2,
                    .rate = 2e-3 * std::min(t / 0.1, 1 - t),
                    .norm = 0.5,
                    .tokensPerSecond = 45312,
                    .seconds = t * 100});
    if (i % 5 == 0) {
      rows.back().validationLoss = 4 * std::exp(-3.6 * t) + 0.3;
      rows.back().measure = 1 - std::exp(-5 * t);
    }
  }
  return rows;
}

class LogTest : public testing::Test {
protected:
  std::string content() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  test::TemporaryFolder folder;
  std::string path = folder / "log.tsv";
};

TEST_F(LogTest, RowsAreReadAgain) {
  auto log = TrainingLog::open(path, 0);
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_TRUE(log->add({.step = 10, .epoch = 1, .loss = 2.5, .rate = 1e-4, .norm = 3}));
  ASSERT_TRUE(
      log->add({.step = 20, .epoch = 1, .loss = 2, .validationLoss = 2.25, .measure = 0.5}));
  EXPECT_EQ(content(), "step\tepoch\tloss\trate\tnorm\tskipped\ttokens_per_second\tseconds\t"
                       "validation_loss\tmeasure\n"
                       "10\t1\t2.5\t0.0001\t3\t0\t0\t0\t\t\n"
                       "20\t1\t2\t0\t0\t0\t0\t0\t2.25\t0.5\n");
  auto rows = readLog(path);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_THAT(*rows, SizeIs(2));
  EXPECT_EQ((*rows)[0].rate, 1e-4);
  EXPECT_FALSE((*rows)[0].measure);
  EXPECT_EQ((*rows)[1].validationLoss, 2.25);
}

/// Steps after the checkpoint are done again, so their rows are removed.
TEST_F(LogTest, RunsGoOn) {
  {
    auto log = TrainingLog::open(path, 0);
    ASSERT_TRUE(log);
    for (const LogRow &row : rowsOf(3))
      ASSERT_TRUE(log->add(row));
  }
  auto log = TrainingLog::open(path, 25);
  ASSERT_TRUE(log) << log.error().message;
  EXPECT_THAT(log->rows(), SizeIs(2));
  ASSERT_TRUE(log->add({.step = 30}));
  EXPECT_THAT(*readLog(path), SizeIs(3));
  auto fresh = TrainingLog::open(path, 0);
  ASSERT_TRUE(fresh);
  EXPECT_THAT(*readLog(path), SizeIs(0));
}

TEST_F(LogTest, DamagedLogs) {
  folder.write("log.tsv", "hello\n");
  EXPECT_EQ(TrainingLog::open(path, 1).error().message,
            path + ": expected the log of a run, found another file");
  ASSERT_TRUE(TrainingLog::open(path, 0)->add({.step = 10}));
  std::ofstream(path, std::ios::app) << "20\tx\n";
  EXPECT_EQ(readLog(path).error().message,
            path + ": line 3: expected the numbers of a step, found '20\\x09x'");
  EXPECT_FALSE(TrainingLog::open(folder / "none/log.tsv", 0));
  EXPECT_FALSE(TrainingLog::open(folder / "missing.tsv", 5));
}

TEST_F(LogTest, Curves) {
  const std::string drawing = curveOf(rowsOf(200), "accuracy");
  EXPECT_THAT(drawing, HasSubstr("validation"));
  EXPECT_THAT(drawing, HasSubstr(">accuracy<"));
  EXPECT_THAT(drawing, Not(HasSubstr("nan")));
  if (const char *file = std::getenv("HEDDLE_TEST_CURVE"))
    std::ofstream(file) << drawing;
}

TEST_F(LogTest, CurvesOfFewAndManyRows) {
  for (const int64_t count : {0, 1, 2}) {
    const std::string drawing = curveOf(rowsOf(count), "");
    EXPECT_THAT(drawing, Not(HasSubstr("nan"))) << count;
    EXPECT_THAT(drawing, Not(HasSubstr("inf"))) << count;
  }
  EXPECT_LT(curveOf(rowsOf(100000), "accuracy").size(), 40000U);
  std::vector<LogRow> rows = rowsOf(3);
  rows[1].loss = std::nan("");
  EXPECT_THAT(curveOf(rows, ""), Not(HasSubstr("nan")));
}

TEST_F(LogTest, LinesOfATerminal) {
  RunProgress progress{.step = 512,
                       .steps = 2142,
                       .epoch = 4,
                       .epochs = 14,
                       .loss = 1.23456,
                       .norm = 0.875,
                       .rate = 1.9e-3,
                       .tokensPerSecond = 45312.4,
                       .secondsLeft = 151};
  EXPECT_EQ(progressLine(progress, 200),
            "epoch 4/14, step 512/2142, loss 1.2346, 2:31 min left, 45312 tokens/s, norm 0.88, "
            "rate 1.90e-03");
  EXPECT_EQ(progressLine(progress, 60), "epoch 4/14, step 512/2142, loss 1.2346, 2:31 min left");
  progress.epochs = 0;
  progress.measure = 0.98;
  EXPECT_THAT(progressLine(progress, 80), HasSubstr("epoch 4, step 512/2142"));
  EXPECT_THAT(progressLine(progress, 80), HasSubstr("measure 0.980"));
}

TEST_F(LogTest, Durations) {
  EXPECT_EQ(durationText(-1), "0 s");
  EXPECT_EQ(durationText(59.4), "59 s");
  EXPECT_EQ(durationText(59.6), "1:00 min");
  EXPECT_EQ(durationText(3599), "59:59 min");
  EXPECT_EQ(durationText(3900), "1:05 h");
}

} // namespace
