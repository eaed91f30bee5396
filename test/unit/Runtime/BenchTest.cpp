//===- BenchTest.cpp - Timed launches and generated inputs -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times depend on the machine. Tests that each launch has a time and that
// timing changes no result.
#include "bench/Bench.h"

#include "Toy.h"
#include "bench/ReadProbe.h"

#include "heddle/Support/CpuRates.h"

#include <gmock/gmock.h>
#include <sstream>

using namespace heddle;
using namespace heddle::test;

namespace {
class BenchTest : public DeviceTest {};
INSTANTIATE_ON_DEVICES(BenchTest);
} // namespace

TEST_P(BenchTest, EveryLaunchHasATimeAndResultsStay) {
  Session session = open();
  Tensor x = counting({2, 9, 20});
  auto plain = session.run("triple", {{"x", x}});
  ASSERT_TRUE(plain) << plain.error().message;
  NamedTensors outputs;
  std::vector<LaunchTime> times;
  for (int call = 0; call < 2; ++call) // times of earlier calls are dropped
    ASSERT_TRUE(session.runTimed("triple", {{"x", x}}, outputs, times));
  EXPECT_EQ(valuesOf<float>(outputs["y"]), valuesOf<float>((*plain)["y"]));
  ASSERT_EQ(times.size(), session.program().findFunction("triple")->launches.size());
  for (const LaunchTime &time : times) {
    EXPECT_GT(time.seconds, 0);
    EXPECT_FALSE(time.kernel.empty());
  }
}

TEST_P(BenchTest, TimedCallsKeepCaches) {
  Session session = open();
  NamedTensors outputs;
  std::vector<LaunchTime> times;
  Tensor start = counting({1, 16}), step = counting({1, 1, 16}), counts = ints({1}, {1});
  ASSERT_TRUE(session.runTimed("start", {{"x", start}}, outputs, times));
  for (int64_t steps = 1; steps <= 2; ++steps) {
    ASSERT_TRUE(session.runTimed("step", {{"x", step}, {"counts", counts}}, outputs, times));
    EXPECT_EQ(session.stateDim("P"), steps);
  }
}

TEST(BenchInputs, FollowRangesAndSizes) {
  Program program = toyProgram();
  auto inputs = syntheticInputs(*program.findFunction("count"), {{"B", 2}, {"S", 5}});
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_EQ((*inputs)["ids"].shape(), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(inputs->find("lengths"), nullptr); // it has a default
}

TEST(BenchInputs, OddAndEvenMedians) {
  EXPECT_EQ(medianOf({}), 0);
  EXPECT_EQ(medianOf({3, 1, 2}), 2);
  EXPECT_EQ(medianOf({4, 1, 3, 2}), 2.5);
}

TEST(BenchRates, MultiplyAddsAndReading) {
  if (rateInstruction(Arithmetic::F32).empty())
    GTEST_SKIP() << "no fused multiply-add here";
  EXPECT_GT(measureRate(Arithmetic::F32, 1), 1e9);
  for (auto arithmetic : {Arithmetic::BF16, Arithmetic::Int8, Arithmetic::F16})
    EXPECT_EQ(measureRate(arithmetic, 2) > 0, !rateInstruction(arithmetic).empty());
  for (int64_t bytes : {int64_t{1}, int64_t{100'000}, int64_t{8} << 20}) {
    auto probe = ReadProbe::create(bytes, 2);
    ASSERT_TRUE(probe) << probe.error().message;
    EXPECT_GT(probe->measure(), 1e5); // low, because other processes may use the cores
  }
}

TEST(BenchCommandTest, PrintsATable) {
  auto session = Session::fromArtifact(toyArtifact());
  ASSERT_TRUE(session) << session.error().message;
  std::ostringstream out;
  BenchCommand command;
  command.function = "triple";
  command.dims = {{"B", 1}, {"T", 3}};
  command.rounds = 1;
  Status status = benchCommand(*session, command, "cpu", out);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_THAT(out.str(), testing::HasSubstr("all kernels"));
  EXPECT_THAT(out.str(), testing::HasSubstr("function triple"));
}
