//===- SessionTest.cpp - Calls, their checks and their errors ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All tests run on both devices.
#include "Toy.h"

#include "heddle/Runtime/Commands.h"

#include <gmock/gmock.h>
#include <sstream>
#include <thread>

using namespace heddle;
using namespace heddle::test;
using testing::Each;
using testing::ElementsAre;

namespace {
class SessionTest : public DeviceTest {};
INSTANTIATE_ON_DEVICES(SessionTest);

std::string errorOf(Session &session, std::string_view function, const NamedInputs &inputs) {
  auto outputs = session.run(function, inputs);
  return outputs ? "no error" : outputs.error().message;
}

std::vector<float> tripled(const Tensor &tensor) {
  std::vector<float> values = valuesOf<float>(tensor);
  for (float &value : values)
    value *= 3;
  return values;
}
} // namespace

TEST_P(SessionTest, ManyShapesInOneSession) {
  Session session = open();
  for (int64_t batch : {1, 3, 2, 1, 7, 5, 1})
    for (int64_t rows : {1, 17, 4}) {
      Tensor x = counting({batch, rows, 20}, -5);
      auto outputs = session.run("triple", {{"x", x}});
      ASSERT_TRUE(outputs) << outputs.error().message;
      const Tensor &y = (*outputs)["y"];
      EXPECT_EQ(y.shape(), x.shape());
      EXPECT_EQ(valuesOf<float>(y), tripled(x));
    }
}

TEST_P(SessionTest, PoisonAndThreadsChangeNothing) {
  for (int threads : {1, 2, 5}) {
    Session session = open({.threads = threads, .poison = true});
    Tensor x = counting({2, 9, 20});
    auto outputs = session.run("triple", {{"x", x}});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_EQ(valuesOf<float>((*outputs)["y"]), tripled(x));
  }
}

TEST_P(SessionTest, EmptyDimensionsGiveEmptyResults) {
  Session session = open();
  auto outputs = session.run("triple", {{"x", Tensor(DType::F32, {2, 0, 20})}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ((*outputs)["y"].shape(), (std::vector<int64_t>{2, 0, 20}));
}

TEST_P(SessionTest, ResultTensorsAreUsedAgain) {
  Session session = open();
  NamedTensors outputs;
  Tensor x = counting({2, 3, 20});
  ASSERT_TRUE(session.run("triple", {{"x", x}}, outputs));
  const std::byte *place = outputs["y"].bytes().data();
  ASSERT_TRUE(session.run("triple", {{"x", x}}, outputs));
  EXPECT_EQ(outputs["y"].bytes().data(), place);
}

TEST_P(SessionTest, BorrowedTensorsAreReadAndWrittenInPlace) {
  Session session = open();
  std::vector<float> values(2 * 3 * 20, 2.0f), result(values.size());
  auto x = Tensor::borrow(DType::F32, {2, 3, 20}, std::as_writable_bytes(std::span(values)));
  auto y = Tensor::borrow(DType::F32, {2, 3, 20}, std::as_writable_bytes(std::span(result)));
  ASSERT_TRUE(x && y);
  NamedTensors outputs;
  outputs.set("y", std::move(*y));
  ASSERT_TRUE(session.run("triple", {{"x", *x}}, outputs));
  EXPECT_THAT(result, Each(6.0f));
  // A result that does not fit gets memory of its own.
  ASSERT_TRUE(session.run("triple", {{"x", counting({3, 3, 20})}}, outputs));
  EXPECT_FALSE(outputs["y"].isBorrowed());
  EXPECT_THAT(result, Each(6.0f));
}

TEST(BorrowedTensor, RefusesMemoryThatDoesNotFit) {
  alignas(8) std::byte memory[32];
  EXPECT_EQ(Tensor::borrow(DType::F32, {3, 3}, memory).error().message,
            "expected memory of at least 36 bytes for a tensor of shape [3, 3], found 32");
  EXPECT_EQ(Tensor::borrow(DType::I64, {3}, std::span(memory).subspan(4)).error().message,
            "expected memory aligned to 8 bytes for elements of i64, found other memory");
  EXPECT_FALSE(Tensor::borrow(DType::F32, {-1}, memory));
  EXPECT_TRUE(Tensor::borrow(DType::BF16, {16}, memory));
}

TEST_P(SessionTest, DefaultsAndIntegerTypes) {
  Session session = open();
  auto outputs =
      session.run("count", {{"ids", ints({3, 4}, {5, 0, 7, 0, 0, 0, 0, 0, 1, 1, 1, 1})}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(valuesOf<int32_t>((*outputs)["lengths"]), ElementsAre(3, 0, 4));
  int64_t longs[] = {9, 0};
  outputs = session.run("count", {{"ids", Tensor::of<int64_t>({1, 2}, longs)}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(valuesOf<int32_t>((*outputs)["lengths"]), ElementsAre(1));
  outputs = session.run("count", {{"ids", ints({1, 2}, {1, 2})}, {"lengths", ints({1}, {1})}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(valuesOf<int32_t>((*outputs)["lengths"]), ElementsAre(1));
}

TEST_P(SessionTest, ErrorsNameInputAndDimension) {
  Session session = open();
  Tensor ids = ints({2, 3}, {1, 2, 3, 4, 5, 6});
  int64_t large[] = {int64_t{1} << 40, 0};
  EXPECT_EQ(
      errorOf(session, "nothing", {}),
      "expected a function of the model (triple, count, start, step, reorder), found 'nothing'");
  EXPECT_EQ(errorOf(session, "triple", {}),
            "x: expected a value for this input of triple, found none");
  EXPECT_EQ(errorOf(session, "triple", {{"z", ids}}),
            "z: expected an input of triple (x), found another name");
  EXPECT_EQ(errorOf(session, "count", {{"ids", ids}, {"ids", ids}}),
            "ids: expected one value, found two");
  EXPECT_EQ(errorOf(session, "triple", {{"x", ids}}), "x: expected f32, found i32");
  EXPECT_EQ(errorOf(session, "triple", {{"x", counting({2, 20})}}),
            "x: expected rank 3 [B, T, 20], found shape [2, 20]");
  EXPECT_EQ(errorOf(session, "triple", {{"x", counting({2, 1, 19})}}),
            "x: dimension 2: expected 20, found 19");
  EXPECT_EQ(errorOf(session, "count", {{"ids", ids}, {"lengths", ints({3}, {1, 1, 1})}}),
            "lengths: dimension 0 (B): expected 2 as in ids, found 3");
  EXPECT_EQ(errorOf(session, "count", {{"ids", ids}, {"lengths", ints({2}, {1, 4})}}),
            "lengths: expected values in [0, S + 1 = 4), found 4 at [1]");
  EXPECT_EQ(errorOf(session, "count", {{"ids", ints({1, 2}, {3, 100})}}),
            "ids: expected values in [0, 100), found 100 at [0, 1]");
  EXPECT_EQ(errorOf(session, "count", {{"ids", Tensor::of<int64_t>({1, 2}, large)}}),
            "ids: expected values in [0, 100), found 1099511627776 at [0, 0]");
}

TEST_P(SessionTest, FunctionsDescribeThemselves) {
  Session session = open();
  EXPECT_THAT(session.functions(), ElementsAre("triple", "count", "start", "step", "reorder"));
  auto inputs = session.inputs("count");
  ASSERT_TRUE(inputs);
  EXPECT_EQ((*inputs)[0].name, "ids");
  EXPECT_THAT((*inputs)[0].shape, ElementsAre("B", "S"));
  EXPECT_TRUE((*inputs)[0].required);
  EXPECT_FALSE((*inputs)[1].required);
  EXPECT_EQ((*session.outputs("triple"))[0].type, DType::F32);
  EXPECT_FALSE(session.outputs("other"));
}

TEST_P(SessionTest, ObserversSeeEveryBufferAfterEachLaunch) {
  Session session = open();
  std::vector<float> seen;
  auto outputs = session.runObserved(
      "triple", {{"x", counting({1, 1, 20}, 4, 0)}},
      [&](int launch, const Dimensions &dims, const BufferReader &read) -> Status {
        EXPECT_EQ(dims.at("T"), 1);
        // Buffer 1 is a temporary, which keeps its contents here.
        auto words = read(1);
        if (!words)
          return words.takeError();
        seen.push_back(std::bit_cast<float>((*words)[19]));
        for (int buffer : {-1, 999'999}) {
          auto none = read(buffer);
          EXPECT_FALSE(none);
          if (!none)
            EXPECT_THAT(none.error().message,
                        testing::AllOf(testing::StartsWith("triple: expected a buffer below "),
                                       testing::EndsWith("found " + std::to_string(buffer))));
        }
        return {};
      });
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(seen, ElementsAre(8, 8));
  EXPECT_THAT(valuesOf<float>((*outputs)["y"]), Each(12));
}

TEST_P(SessionTest, ClonesRunSideBySide) {
  Session first = open();
  auto second = first.clone();
  ASSERT_TRUE(second) << second.error().message;
  auto work = [](Session &session, float start, bool &good) {
    for (int i = 0; i < 50; ++i) {
      Tensor x = counting({1, 1 + i % 5, 20}, start);
      auto outputs = session.run("triple", {{"x", x}});
      good &= outputs && valuesOf<float>((*outputs)["y"]) == tripled(x);
    }
  };
  bool goodFirst = true, goodSecond = true;
  std::thread other(work, std::ref(*second), 100.0f, std::ref(goodSecond));
  work(first, 1, goodFirst);
  other.join();
  EXPECT_TRUE(goodFirst);
  EXPECT_TRUE(goodSecond);
}

TEST_P(SessionTest, TheCommandReadsAndWritesFiles) {
  Session session = open();
  std::ostringstream out;
  EXPECT_EQ(runCommand(session, {"step", {}, {}}, out).error().kind, ErrorKind::Usage);
  EXPECT_EQ(runCommand(session, {"", {}, {}}, out).error().message,
            "--function: expected one of triple, count, start, step, reorder, found none");
  EXPECT_EQ(runCommand(session, {"triple", {"x"}, {}}, out).error().message,
            "--input: expected NAME=FILE.npy, found 'x'");
  EXPECT_EQ(runCommand(session, {"triple", {"x=/none.npy"}, {}}, out).error().kind,
            ErrorKind::Input);
  EXPECT_EQ(runCommand(session, {"triple", {}, ""}, out).error().message,
            "--output-dir: expected a folder, found an empty name");
}

TEST(Session, DevicesThatAreNotThere) {
  EXPECT_EQ(Session::fromArtifact(toyArtifact(), {.device = "tpu"}).error().message,
            "device: expected cpu, vulkan or vulkan:N, found 'tpu'");
  EXPECT_EQ(Session::fromArtifact(toyArtifact(), {.device = "vulkan:"}).error().kind,
            ErrorKind::Usage);
  EXPECT_EQ(Session::fromArtifact(toyArtifact(), {.device = "vulkan:99"}).error().kind,
            ErrorKind::Input);
  EXPECT_EQ(Session::open("/nonexistent.heddle").error().kind, ErrorKind::Input);
}
