//===- AllocationTest.cpp - Calls without heap allocations ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Once a session has seen its shapes, `run` into the caller's own tensors does not allocate. Tests
// whole models, each step of a decoding whose caches grow, and a reorder of hypotheses.
#include "AllocationCounter.h"
#include "Models.h"

#include <iterator>
#include <sstream>

using namespace heddle;
using namespace heddle::test;

namespace {

/// A call whose data are made before its allocations are counted.
struct PreparedCall {
  std::string function;
  Tensors given;
  NamedTensors outputs;

  /// Takes the tensors that the function needs from `tensors`, including results of an earlier
  /// call.
  PreparedCall(Session &session, std::string name, const Tensors &tensors)
      : function(std::move(name)) {
    auto ports = session.inputs(function);
    EXPECT_TRUE(ports) << ports.error().message;
    for (const PortInfo &port : *ports)
      if (auto found = tensors.find(port.name); found != tensors.end())
        given.insert(*found);
    for (const auto &[input, tensor] : given)
      inputs.emplace_back(input, tensor);
  }
  PreparedCall(const PreparedCall &) = delete;

  int64_t allocationsOf(Session &session) {
    int64_t before = allocations();
    Status status = session.run(function, inputs, outputs);
    int64_t taken = allocations() - before;
    EXPECT_TRUE(status) << status.error().message;
    return taken;
  }

private:
  NamedInputs inputs;
};

using Calls = std::vector<std::unique_ptr<PreparedCall>>;

class AllocationTest : public testing::TestWithParam<std::tuple<std::string, int>> {
protected:
  void SetUp() override {
    if (!artifactFolder())
      GTEST_SKIP() << "HEDDLE_TEST_ARTIFACTS names no artifacts";
    const std::string &model = std::get<0>(GetParam());
    HEDDLE_ASSERT(read, Golden::read(model.substr(0, model.find('.'))));
    golden = std::move(read);
    HEDDLE_ASSERT(opened, openArtifact(model, {.threads = std::get<1>(GetParam())}));
    session.emplace(std::move(opened));
    HEDDLE_ASSERT(encoded, call(*session, "encode", golden.inputs));
    inputs = golden.inputs;
    if (auto memory = encoded.find("memory"); memory != encoded.end())
      inputs.insert(*memory);
  }

  bool decodes() const { return !golden.decode.empty(); }
  void add(const std::string &function, const Tensors &tensors) {
    calls.push_back(std::make_unique<PreparedCall>(*session, function, tensors));
  }

  /// Runs the calls one after the other, repeatedly; the first rounds may allocate.
  void expectSteady() {
    constexpr int rounds = 3, warm = 2;
    for (int round = 0; round < rounds; ++round)
      for (size_t i = 0; i < calls.size(); ++i) {
        int64_t taken = calls[i]->allocationsOf(*session);
        EXPECT_TRUE(round < warm || taken == 0)
            << calls[i]->function << ", call " << i << " of round " << round << ": " << taken
            << " allocations";
      }
  }

  Golden golden;
  Tensors inputs;
  Calls calls;
  std::optional<Session> session;
};

TEST_P(AllocationTest, WholeModelsTakeNone) {
  add("encode", inputs);
  if (decodes())
    add("decode", inputs);
  if (!golden.loss.empty())
    add("loss", inputs);
  expectSteady();
}

TEST_P(AllocationTest, StepsWithGrowingCachesTakeNone) {
  if (!decodes())
    GTEST_SKIP() << "an encoder alone";
  add("decode_start", inputs);
  const size_t axis = golden.timeAxis("target");
  const Tensor target = inputs.at("target");
  auto rows = static_cast<int32_t>(target.dim(1 - axis));
  // more than the number of kept plans
  const int64_t steps = std::min<int64_t>(target.dim(axis), 12);
  for (int64_t t = 0; t < steps; ++t) {
    Tensors step = inputs;
    step["target"] = slice(target, axis, t, t + 1);
    if (auto lengths = step.find("target.lengths"); lengths != step.end())
      for (int32_t &length : lengths->second.values<int32_t>())
        length = std::min(length, static_cast<int32_t>(t + 1));
    add("decode_step", step);
    std::vector<int32_t> parents;
    for (int32_t row = 0; row < rows; ++row)
      parents.push_back(t % 2 ? rows - 1 - row : 0);
    add("decode_reorder", {{"parents", Tensor::i32({rows}, parents)}});
  }
  expectSteady();
}

std::vector<std::string> models() {
  std::istringstream names(HEDDLE_GOLDENS);
  return {std::istream_iterator<std::string>(names), {}};
}

INSTANTIATE_TEST_SUITE_P(Goldens, AllocationTest,
                         testing::Combine(testing::ValuesIn(models()), testing::Values(1, 2)),
                         [](const auto &info) {
                           std::string name = std::get<0>(info.param) + "_" +
                                              std::to_string(std::get<1>(info.param)) + "_threads";
                           for (char &c : name)
                             if (!isalnum(static_cast<unsigned char>(c)))
                               c = '_';
                           return name;
                         });

} // namespace

TEST(AllocationCounter, Counts) {
  int64_t before = allocations();
  auto memory = std::make_unique<std::vector<int>>(100);
  EXPECT_EQ(allocations() - before, 2);
  EXPECT_EQ(memory->size(), 100u);
}
