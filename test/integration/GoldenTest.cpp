//===- GoldenTest.cpp - Whole models against PyTorch and themselves -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conformance suite, run on every device over every case of test/data/goldens. Results are compared once
// with PyTorch's; everything else is compared bit by bit with the device's own all-at-once run.
#include "Models.h"

#include <iterator>
#include <map>
#include <sstream>

using namespace heddle;
using namespace heddle::test;

namespace {

/// Tolerance relative to PyTorch in f32 (Int4Test and `--verify` check the bits of int4).
double toleranceOf(const std::string &dtype) {
  const NumberFormat *format = findFormat(dtype);
  return (format ? *format : numberFormats[0]).error;
}

class GoldenTest : public testing::TestWithParam<std::tuple<std::string, std::string>> {
protected:
  /// Name of the artifact: a case of test/data/goldens, followed by ".bf16" or another type if it was
  /// compiled with it.
  const std::string &model() const { return std::get<0>(GetParam()); }
  std::string goldenCase() const { return model().substr(0, model().find('.')); }
  std::string dtype() const {
    size_t dot = model().find('.');
    return dot == std::string::npos ? "f32" : model().substr(dot + 1);
  }
  const std::string &device() const { return std::get<1>(GetParam()); }

  /// Results of `encode`, and of `decode` with its memory.
  using Results = std::pair<Tensors, Tensors>;

  /// An open model and its all-at-once run. The tests of a model share it, because opening it on a
  /// software GPU takes longer than running it.
  struct Subject {
    Golden golden;
    Session session;
    Results all;
  };

  static inline std::map<std::tuple<std::string, std::string>, Subject> subjects;
  static void TearDownTestSuite() { subjects.clear(); }

  void SetUp() override {
    if (!artifactFolder())
      GTEST_SKIP() << "HEDDLE_TEST_ARTIFACTS names no artifacts";
    auto found = subjects.find(GetParam());
    if (found == subjects.end()) {
      HEDDLE_ASSERT(read, Golden::read(goldenCase()));
      auto opened = openArtifact(model(), {.device = device()});
      if (!opened && isMissingDevice(opened.error()))
        GTEST_SKIP() << opened.error().message;
      ASSERT_TRUE(opened) << opened.error().message;
      HEDDLE_ASSERT(all, runAll(*opened, read));
      found = subjects.try_emplace(GetParam(), std::move(read), std::move(*opened), std::move(all))
                  .first;
    }
    subject = &found->second;
  }

  const Golden &golden() const { return subject->golden; }
  Session &session() const { return subject->session; }
  /// Results with which everything else is compared.
  const Results &all() const { return subject->all; }

  static bool decodes(const Golden &golden) { return !golden.decode.empty(); }

  static Expected<Results> runAll(Session &on, const Golden &golden) {
    return runAll(on, golden.inputs, decodes(golden));
  }
  static Expected<Results> runAll(Session &on, const Tensors &inputs, bool decodes) {
    auto encoded = call(on, "encode", inputs);
    if (!encoded || !decodes)
      return encoded ? Expected(Results(std::move(*encoded), {})) : encoded.takeError();
    auto decoded = call(on, "decode", withMemory(inputs, *encoded));
    if (!decoded)
      return decoded.takeError();
    return Results(std::move(*encoded), std::move(*decoded));
  }
  void expectAll(const Results &found, const std::string &place) {
    EXPECT_TRUE(sameBits(found.first, all().first)) << place;
    EXPECT_TRUE(sameBits(found.second, all().second)) << place;
  }

  static Tensors withMemory(Tensors inputs, const Tensors &encoded) {
    inputs.insert_or_assign("memory", encoded.at("memory"));
    return inputs;
  }

  /// Inputs of a single row, cut to its real lengths.
  Tensors rowAlone(int64_t row) const {
    Tensors inputs;
    for (const auto &[name, tensor] : golden().inputs) {
      inputs[name] = slice(tensor, golden().batchAxis(name), row, row + 1);
      if (auto lengths = golden().inputs.find(name + ".lengths"); lengths != golden().inputs.end())
        inputs[name] =
            slice(inputs[name], golden().timeAxis(name), 0, lengths->second.values<int32_t>()[row]);
    }
    return inputs;
  }

  /// The part of a batch's result that belongs to one row; `wanted` has its length.
  Tensor partOf(const std::string &name, const Tensor &whole, int64_t row,
                const Tensor &wanted) const {
    Tensor part = slice(whole, golden().batchAxis(name), row, row + 1);
    for (size_t axis = 0; axis < part.rank(); ++axis)
      if (part.dim(axis) > wanted.dim(axis))
        part = slice(part, axis, 0, wanted.dim(axis));
    return part;
  }

  void expectPart(const Tensors &alone, const Tensors &whole, int64_t row) {
    for (const auto &[name, tensor] : alone)
      EXPECT_TRUE(sameBits(tensor, partOf(name, whole.at(name), row, tensor)))
          << name << ", row " << row;
  }

  /// One call of decode_step at position `t` of the target. Keeps only results that every model
  /// has.
  Expected<Tensors> step(Tensors inputs, int64_t t) {
    Tensor &target = inputs.at("target");
    target = slice(target, golden().timeAxis("target"), t, t + 1);
    auto results = call(session(), "decode_step", inputs);
    return results ? Expected(scoresOf(std::move(*results))) : results.takeError();
  }

  /// Number of tokens in each row of `inputs`, without padding.
  std::vector<int64_t> tokens(const Tensors &inputs) const {
    const Tensor &target = inputs.at("target");
    const size_t time = golden().timeAxis("target");
    const int64_t rows = target.dim(golden().batchAxis("target")), most = target.dim(time);
    std::vector<int64_t> counts(static_cast<size_t>(rows), most);
    if (auto lengths = inputs.find("target.lengths"); lengths != inputs.end())
      std::ranges::copy(lengths->second.values<int32_t>(), counts.begin());
    else if (target.dtype() == DType::I32)
      for (int64_t row = 0; row < rows; ++row)
        while (counts[row] > 0 &&
               target.values<int32_t>()[time ? row * most + counts[row] - 1
                                             : (counts[row] - 1) * rows + row] == 0)
          --counts[row];
    return counts;
  }

  /// A step at position `t` gives the values of `expected` there, except in rows whose text has
  /// ended: a step treats their padding as ordinary tokens.
  void expectStep(const Tensors &found, const Tensors &expected, const Tensors &inputs, int64_t t) {
    const std::vector<int64_t> counts = tokens(inputs);
    for (const auto &[name, tensor] : found)
      for (int64_t row = 0; row < std::ssize(counts); ++row) {
        const size_t axis = golden().batchAxis(name);
        if (t < counts[row]) {
          ASSERT_TRUE(sameBits(slice(tensor, axis, row, row + 1),
                               slice(expected.at(name), axis, row, row + 1)))
              << name << ", step " << t << ", row " << row;
        }
      }
  }

  /// Position `t` of an all-at-once result.
  Tensors column(Tensors results, int64_t t) const {
    results = scoresOf(std::move(results));
    for (auto &[name, tensor] : results)
      tensor = slice(tensor, golden().timeAxis(name), t, t + 1);
    return results;
  }

  /// Results without attention weights, whose shapes differ between a step and a whole run.
  static Tensors scoresOf(Tensors results) {
    std::erase_if(results, [](const auto &entry) {
      return entry.first != "logits" && entry.first != "probabilities" && entry.first != "output";
    });
    return results;
  }

  Tensors rows(const Tensors &tensors, const std::vector<int32_t> &parents) const {
    Tensors gathered;
    for (const auto &[name, tensor] : tensors)
      gathered.emplace(name, gather(tensor, golden().batchAxis(name), parents));
    return gathered;
  }

  Subject *subject = nullptr;
};

TEST_P(GoldenTest, AgreesWithPyTorch) {
  Tensors loss;
  if (!golden().loss.empty()) {
    HEDDLE_ASSERT(computed, call(session(), "loss", golden().inputs));
    loss = std::move(computed);
  }
  for (auto [expected, results] :
       {std::pair(&golden().encode, &all().first), std::pair(&golden().decode, &all().second),
        std::pair(&golden().loss, &std::as_const(loss))})
    for (const auto &[name, tensor] : *expected) {
      ASSERT_TRUE(results->count(name)) << name;
      EXPECT_LE(difference(results->at(name), tensor), toleranceOf(dtype())) << name;
    }
}

TEST_P(GoldenTest, StepsGiveTheBitsOfAllAtOnce) {
  if (!decodes(golden()))
    GTEST_SKIP() << "an encoder takes no steps";
  HEDDLE_ASSERT(started, call(session(), "decode_start", withMemory(golden().inputs, all().first)));
  EXPECT_TRUE(started.empty());
  const int64_t steps =
      std::min<int64_t>(golden().inputs.at("target").dim(golden().timeAxis("target")), 40);
  for (int64_t t = 0; t < steps; ++t) {
    HEDDLE_ASSERT(found, step(golden().inputs, t));
    ASSERT_NO_FATAL_FAILURE(expectStep(found, column(all().second, t), golden().inputs, t));
  }
}

TEST_P(GoldenTest, ReorderedRowsGoOn) {
  if (!decodes(golden()) || golden().inputs.at("target").dim(golden().batchAxis("target")) < 2)
    GTEST_SKIP() << "needs two rows to transpose";
  HEDDLE_ASSERT(started, call(session(), "decode_start", withMemory(golden().inputs, all().first)));
  EXPECT_TRUE(started.empty());
  HEDDLE_ASSERT(first, step(golden().inputs, 0));
  expectStep(first, column(all().second, 0), golden().inputs, 0);
  // A batch of two or more becomes a batch of three; every input's rows follow their parents.
  const std::vector<int32_t> parents = {1, 0, 1};
  HEDDLE_ASSERT(reordered,
                call(session(), "decode_reorder", {{"parents", Tensor::i32({3}, parents)}}));
  EXPECT_TRUE(reordered.empty());
  for (int64_t t = 1; t < 4; ++t) {
    const Tensors inputs = rows(golden().inputs, parents);
    HEDDLE_ASSERT(found, step(inputs, t));
    expectStep(found, rows(column(all().second, t), parents), inputs, t);
  }
}

TEST_P(GoldenTest, ARowAloneAndUnpaddedHasTheSameBits) {
  const int64_t rows = golden().inputs.at("source").dim(golden().batchAxis("source"));
  for (int64_t row = 0; row < rows; ++row) {
    HEDDLE_ASSERT(alone, runAll(session(), rowAlone(row), decodes(golden())));
    expectPart(alone.first, all().first, row);
    expectPart(alone.second, all().second, row);
  }
}

TEST_P(GoldenTest, ThreadsAndRunsDoNotChangeBits) {
  HEDDLE_ASSERT(again, runAll(session(), golden()));
  expectAll(again, "the second run");
  if (device() == "vulkan") // which has no number of threads
    return;
  for (int threads : {1, 2}) {
    HEDDLE_ASSERT(other, openArtifact(model(), {.device = device(), .threads = threads}));
    HEDDLE_ASSERT(found, runAll(other, golden()));
    expectAll(found, std::to_string(threads) + " threads");
  }
}

TEST_P(GoldenTest, PoisonedMemoryDoesNotChangeBits) {
  HEDDLE_ASSERT(poisoned, openArtifact(model(), {.device = device(), .poison = true}));
  HEDDLE_ASSERT(found, runAll(poisoned, golden()));
  expectAll(found, "poisoned memory");
}

std::string caseName(const testing::TestParamInfo<GoldenTest::ParamType> &info) {
  std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param);
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

/// Cases for which CMakeLists.txt makes artifacts.
std::vector<std::string> cases() {
  std::istringstream names(HEDDLE_GOLDENS);
  return {std::istream_iterator<std::string>(names), {}};
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenTest,
                         testing::Combine(testing::ValuesIn(cases()),
                                          testing::Values<std::string>("cpu", "vulkan")),
                         caseName);

} // namespace
