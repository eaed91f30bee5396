//===- ProgramTest.cpp - Tests of programs as JSON -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that a program survives conversion to text and back, and that any
// damaged text is an error.

#include "TestProgram.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <random>

using namespace heddle;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

namespace {

TEST(Program, TextIsStableAndComplete) {
  std::string text = toJson(testProgram());
  auto program = programFromJson(text);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(toJson(*program), text);
  const Function &f = *program->findFunction("encode");
  EXPECT_EQ(f.buffers[1].elements.str(), "B*roundup(S, 16)*64");
  EXPECT_EQ(f.inputs[0].range->second.constantValue(), 100);
  EXPECT_EQ(f.inputs[1].fallback.kind, DefaultInput::Kind::LengthsOf);
  EXPECT_EQ(program->kernels[0].cpu->grid[1].tile, 96);
  EXPECT_FALSE(program->kernels[1].cpu);
  EXPECT_EQ(program->pack[0].layout, PackEntry::Layout::Panels);
  EXPECT_EQ(program->findFunction("decode"), nullptr);
}

/// The error after `change` was applied to the JSON of the test program.
std::string errorAfter(const std::function<void(Json &)> &change) {
  Json json = Json::parse(toJson(testProgram()));
  change(json);
  auto program = programFromJson(json.dump());
  return program ? "no error" : program.error().message;
}

TEST(Program, EveryFieldIsNeededAndOthersAreRefused) {
  EXPECT_EQ(errorAfter([](Json &j) { j["kernels"][0]["cpu"].erase("grid"); }),
            "program.kernels[0].cpu: expected a field 'grid', found none");
  EXPECT_EQ(errorAfter([](Json &j) { j["functions"][0]["extra"] = 1; }),
            "program.functions[0]: expected known fields, found 'extra'");
  EXPECT_EQ(errorAfter([](Json &j) { j["functions"][0]["launches"] = "none"; }),
            "program.functions[0].launches: expected an array, found \"none\"");
  EXPECT_EQ(errorAfter([](Json &j) { j["weight_bytes"] = 1.5; }),
            "program.weight_bytes: expected an integer of 64 bits, found 1.5");
  EXPECT_EQ(
      errorAfter([](Json &j) { j["pack"][0]["layout"] = "tiles"; }),
      "program.pack[0].layout: expected one of vector, rows, panels, scales, found \"tiles\"");
  EXPECT_THAT(errorAfter([](Json &j) { j["functions"][0]["buffers"][0]["elements"] = "B*"; }),
              HasSubstr("program.functions[0].buffers[0].elements: size 'B*': expected a number"));
}

TEST(Program, IndicesAndSizesAreChecked) {
  auto launch = [](Json &j) -> Json & { return j["functions"][0]["launches"][0]; };
  auto variant = [](Json &j) -> Json & { return j["kernels"][1]["vulkan"][0]; };
  const std::pair<std::function<void(Json &)>, const char *> cases[] = {
      {[&](Json &j) { launch(j)["arguments"][0]["index"] = 9; }, "a buffer below 4, found 9"},
      {[&](Json &j) { launch(j)["arguments"][1]["index"] = -1; }, "a weight below 2, found -1"},
      {[&](Json &j) { launch(j)["arguments"][1]["kind"] = "buffer"; }, "expected a weight, found"},
      {[&](Json &j) { launch(j)["arguments"][0]["offset"] = "6"; }, "a multiple of 4, found 6"},
      {[&](Json &j) { launch(j)["arguments"].erase(0); }, "expected 3 arguments, found 2"},
      {[&](Json &j) { launch(j)["scalars"] = Json::array(); }, "expected 2 scalars, found 0"},
      {[&](Json &j) { launch(j)["scalars"][0] = "Q"; }, "dimensions of the function, found 'Q'"},
      {[&](Json &j) { launch(j)["kernel"] = "norm"; }, "a kernel of the program, found 'norm'"},
      {[](Json &j) { j["functions"][0]["inputs"][0]["buffer"] = 4; }, "a buffer below 4"},
      {[](Json &j) { j["functions"][0]["inputs"][0]["bounded_by"] = {"lengths"}; },
       "an input of starts that lengths stay within, found 'lengths'"},
      {[](Json &j) { j["functions"][0]["buffers"][1]["last"] = 1; },
       "a lifetime within 1 launches"},
      {[](Json &j) { j["functions"][0]["states"][0]["buffer"] = 1; }, "a buffer of the session"},
      {[](Json &j) { j["functions"][0]["states"] = Json::array(); },
       "a name of the session's state"},
      {[](Json &j) { j["functions"][0]["reorder_by"] = "source"; }, "i32 input of rank 1"},
      {[](Json &j) { j["kernels"][0]["cpu"]["grid"][1]["tile"] = 0; }, "a tile of at least 1"},
      {[](Json &j) { j["kernels"][0]["cpu"]["grid"][0]["scalar"] = 2; }, "one of its scalars"},
      {[&](Json &j) { variant(j)["workgroup"] = {64, 64, 1}; }, "1024 invocations"},
      {[&](Json &j) { variant(j)["member"] = ""; }, "the name of a SPIR-V member, found none"},
      {[&](Json &j) { variant(j)["level"] = -1; }, "a level of at least 0, found -1"},
      {[&](Json &j) { variant(j)["subgroup"] = 256; }, "at most 128 invocations, found 256"},
      {[&](Json &j) { variant(j)["grid"][0]["tile"] = 0; }, "a tile of at least 1"},
      {[&](Json &j) { variant(j)["matrices"][0]["k"] = 0; }, "1 to 1024 rows and columns, found 0"},
      {[&](Json &j) { variant(j)["rows"] = 9; }, "one of its scalars as rows, found 9"},
      {[&](Json &j) { j["kernels"][1]["vulkan"].push_back(variant(j)); },
       "variants of different levels or needs, found 2"},
      {[](Json &j) { j["kernels"][1]["name"] = j["kernels"][0]["name"]; }, "each name once"},
      {[](Json &j) { j["weights"][1]["offset"] = 128; }, "a multiple of 256, found 128"},
      {[](Json &j) { j["weights"][1]["elements"] = int64_t(1) << 62; }, "an end within"},
      {[](Json &j) { j["weight_bytes"] = 4096; }, "an end within 4096 bytes"},
      {[](Json &j) { j["pack"][0]["weight"] = 2; }, "a weight below 2"},
      {[](Json &j) { j["pack"][0]["shape"][0] = 48; }, "a weight of its packed size"},
      {[](Json &j) { j["pack"][0]["shape"] = {int64_t(1) << 40, int64_t(1) << 40}; },
       "a shape of 1 to 2^46 elements"},
      {[](Json &j) { j["pack"].push_back(j["pack"][0]); }, "one that is packed already"},
  };
  for (const auto &[change, message] : cases)
    EXPECT_THAT(errorAfter(change), HasSubstr(message));
}

TEST(Program, PortsAreChecked) {
  auto input = [](Json &j, int i) -> Json & { return j["functions"][0]["inputs"][i]; };
  const std::pair<std::function<void(Json &)>, const char *> cases[] = {
      {[&](Json &j) { input(j, 0)["name"] = ""; }, "expected a name, found none"},
      {[&](Json &j) { input(j, 1)["name"] = "source"; }, "each name once, found 'source' twice"},
      {[](Json &j) { j["functions"][0]["dims"] = {"B", "S", "B"}; },
       "dimensions: expected each name once, found 'B' twice"},
      {[&](Json &j) { input(j, 0)["type"] = "i8"; }, "a type of tensors, found i8"},
      {[&](Json &j) { input(j, 0)["group"] = -1; }, "a group of at least 0, found -1"},
      {[&](Json &j) { input(j, 0)["shape"] = {"B", "T"}; },
       "dimensions of the function, found 'T'"},
      {[&](Json &j) { input(j, 0)["shape"][1] = "-3"; }, "a size of at least 0, found -3"},
      {[&](Json &j) { input(j, 0)["type"] = "f32"; }, "a range of integers, found f32"},
      {[&](Json &j) { input(j, 0)["range"] = {"0", "Q"}; },
       "dimensions of the function, found 'Q'"},
      {[&](Json &j) { input(j, 0)["starts"] = true; }, "starts to be a vector with a range"},
      {[&](Json &j) { input(j, 1)["starts"] = true; }, "starts to be a vector with a range"},
      {[&](Json &j) { input(j, 0)["max_length"] = 5; }, "a maximal length with starts, found 5"},
      {[&](Json &j) { input(j, 1)["transposed"] = true; },
       "at least 2 dimensions to transpose, found 1"},
      {[&](Json &j) { input(j, 0)["broadcast"] = {"B"}; }, "2 sizes to broadcast to, found 1"},
      {[&](Json &j) { input(j, 0)["broadcast"] = {"B", "H"}; },
       "dimensions of the function, found 'H'"},
      {[&](Json &j) { input(j, 1)["fallback"]["source"] = "lengths"; },
       "a default taken from another input, found 'lengths'"},
      {[&](Json &j) { input(j, 1)["fallback"]["source"] = "ids"; },
       "a default taken from another input, found 'ids'"},
      {[](Json &j) { j["functions"][0]["outputs"][0]["buffer"] = -1; },
       "output 0: expected a buffer below 4, found -1"},
      {[](Json &j) { j["functions"][0]["buffers"][2]["generator"] = ""; },
       "a generator of the table, found none"},
      {[](Json &j) { j["functions"][0]["buffers"][1]["first"] = 1; },
       "a lifetime within 1 launches, found 1 to 0"},
      {[](Json &j) { j["functions"][0]["updates"][0][0] = ""; }, "updates: expected a name"},
      {[](Json &j) { j["functions"][0]["updates"][0][1] = "L"; },
       "update of 'P': expected dimensions of the function, found 'L'"},
      {[](Json &j) { j["functions"][0]["checks"][0]["left"] = "L"; },
       "check 0: expected dimensions of the function, found 'L'"},
      {[](Json &j) { j["functions"][0]["states"][0]["name"] = ""; }, "state 0: expected a name"},
      {[](Json &j) { j["functions"][0]["launches"][0]["flops"] = "L"; },
       "launch 0: expected dimensions of the function, found 'L'"},
  };
  for (const auto &[change, message] : cases)
    EXPECT_THAT(errorAfter(change), HasSubstr(message));
}

TEST(Program, KernelsAndPackedWeightsAreChecked) {
  auto kernel = [](Json &j) -> Json & { return j["kernels"][0]; };
  auto variant = [](Json &j) -> Json & { return j["kernels"][1]["vulkan"][0]; };
  auto entry = [](Json &j) -> Json & { return j["pack"][0]; };
  auto rounding = [](int rows, const char *member) {
    return Json{{"grid", Json::parse(toJson(testProgram()))["kernels"][1]["vulkan"][0]["grid"]},
                {"member", member},
                {"workgroup", {64, 1, 1}},
                {"argument", rows}};
  };
  const Json argument = {{"kind", "buffer"}, {"index", 0}, {"offset", "0"}};
  const std::pair<std::function<void(Json &)>, const char *> cases[] = {
      {[&](Json &j) { kernel(j)["arguments"][1]["written"] = true; },
       "weights that are only read, found one that is written"},
      {[&](Json &j) { kernel(j)["cpu"]["grid"][0]["scalar"] = -2; },
       "one of its scalars, found -2"},
      {[&](Json &j) { kernel(j)["cpu"]["grid"][2]["count"] = -1; }, "a grid extent of 0 to 2^46"},
      {[&](Json &j) { variant(j)["workgroup"] = {0, 1, 1}; },
       "at least 1 and at most 1024, found 0"},
      {[&](Json &j) { variant(j)["workgroup"] = {1, 1, 1025}; }, "at most 1024, found 1025"},
      {[&](Json &j) { variant(j)["matrices"][0]["m"] = 2048; }, "rows and columns, found 2048"},
      {[&](Json &j) { variant(j)["rounding"] = rounding(2, "r.spv"); },
       "one of its arguments as rows that are rounded, found 2"},
      {[&](Json &j) { variant(j)["rounding"] = rounding(0, ""); },
       "the name of a SPIR-V member of its rounding, found none"},
      {[&](Json &j) { j["functions"][0]["launches"][0]["rounded"] = {argument}; },
       "0 arguments for rounded rows, found 1"},
      {[](Json &j) { j["weights"][0]["offset"] = -256; }, "a multiple of 256, found -256"},
      {[](Json &j) { j["weights"][0]["elements"] = -1; }, "found -1 elements at 0"},
      {[](Json &j) { j["weight_bytes"] = -1; }, "0 to 2^46 bytes of weights, found -1"},
      {[&](Json &j) { entry(j)["shape"] = {0, 64}; }, "a dimension of 0"},
      {[&](Json &j) { entry(j)["rows"] = 7; }, "rows that divide the tensor, found 7"},
      {[&](Json &j) { entry(j)["row_group"] = 4096; }, "a group within the tensor, found 4096"},
      {[&](Json &j) { entry(j)["type"] = "i32"; }, "f32, or a narrower type in panels, found i32"},
      {[&](Json &j) {
         entry(j)["type"] = "bf16";
         entry(j)["layout"] = "rows";
       },
       "f32, or a narrower type in panels, found bf16"},
  };
  for (const auto &[change, message] : cases)
    EXPECT_THAT(errorAfter(change), HasSubstr(message));
}

TEST(Program, WordsOfALaunchFitInABlock) {
  Program program = testProgram();
  program.kernels[1].scalars.resize(512 - program.kernels[1].arguments.size(), "d");
  EXPECT_TRUE(validate(program));
  program.kernels[1].scalars.push_back("d");
  EXPECT_THAT(validate(program).error().message,
              HasSubstr("at most 512 scalars and arguments, found 513"));
  EXPECT_FALSE(takesArgumentBlock(29));
  EXPECT_TRUE(takesArgumentBlock(30));
}

TEST(Program, NoDamageOfTheTextCrashes) {
  const std::string text = toJson(testProgram());
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = text;
    for (int n = 0; n <= i % 3; ++n)
      damaged[random() % damaged.size()] = "0129-\"[]{},:eBx"[random() % 15];
    (void)bool(programFromJson(damaged));
  }
  for (size_t length = 0; length < text.size(); length += 7)
    EXPECT_FALSE(programFromJson(text.substr(0, length)));
}

} // namespace
