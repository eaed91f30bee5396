//===- WitnessTest.cpp - Hand-written kernels on the Vulkan runtime ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a matrix product and an attention, written by hand in GLSL, on the
// device alone and compares them with plain loops. They show that the runtime
// binds, offsets, dispatches and waits as kernels expect, and they are the
// baseline for compiled kernels.
#include "Toy.h"
#include "bench/Bench.h"

#include "heddle/Runtime/Device.h"
#include "heddle/Runtime/Vulkan/VulkanCode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

using namespace heddle;
using namespace heddle::test;

namespace {

std::vector<float> randoms(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  std::generate(values.begin(), values.end(), [&] { return uniform(random); });
  return values;
}

/// One kernel, its weights and a device that runs it.
class Witness {
public:
  Witness(const char *name, std::vector<KernelArgument> arguments, std::vector<std::string> scalars,
          std::vector<float> weights = {}) {
    Program program;
    Kernel kernel;
    kernel.name = name;
    kernel.arguments = std::move(arguments);
    kernel.scalars = std::move(scalars);
    kernel.vulkan = {{{}, ArtifactWriter::vulkanMember(name), {64, 1, 1}}};
    program.kernels = {kernel};
    program.model = "{}";
    program.weightBytes = static_cast<int64_t>(weights.size() * 4);
    if (!weights.empty())
      program.weights = {{"all", 0, static_cast<int64_t>(weights.size())}};
    ArtifactWriter writer(program);
    writer.addVulkan(ArtifactWriter::vulkanMember(name), readSpirv(name));
    auto built = writer.build("witness", [&](std::span<std::byte> to) {
      std::ranges::copy(std::as_bytes(std::span(weights)), to.begin());
      return Status();
    });
    EXPECT_TRUE(built) << built.error().message;
    artifact = std::make_unique<Artifact>(std::move(*built));
    auto loaded = loadVulkanCode(*artifact, 0);
    EXPECT_TRUE(loaded) << loaded.error().message;
    code = std::move(*loaded);
    device = std::move(*code->createDevice(0));
  }

  /// Places values one after another and reserves memory for `results` more. Returns their offsets.
  std::vector<int64_t> place(const std::vector<std::vector<float>> &values, int64_t results) {
    std::vector<int64_t> offsets;
    int64_t at = 0;
    for (const auto &v : values) {
      offsets.push_back(at);
      at += (static_cast<int64_t>(v.size()) * 4 + 255) / 256 * 256;
    }
    offsets.push_back(at);
    EXPECT_TRUE(device->resize(at + results * 4, 0));
    EXPECT_TRUE(device->begin());
    for (size_t i = 0; i < values.size(); ++i)
      std::memcpy(*device->upload({offsets[i], static_cast<int64_t>(values[i].size()) * 4}),
                  values[i].data(), values[i].size() * 4);
    EXPECT_TRUE(device->finish());
    return offsets;
  }

  std::vector<float> run(const LaunchCall &call, MemoryRange result) {
    EXPECT_TRUE(device->begin());
    EXPECT_TRUE(device->launch(call, {}));
    EXPECT_TRUE(device->download(result));
    Status status = device->finish();
    EXPECT_TRUE(status) << status.error().message;
    std::vector<float> values(static_cast<size_t>(result.bytes / 4));
    std::memcpy(values.data(), device->downloaded(result).data(),
                static_cast<size_t>(result.bytes));
    return values;
  }

  std::unique_ptr<Artifact> artifact;
  std::unique_ptr<DeviceCode> code;
  std::unique_ptr<Device> device;
};

class WitnessTest : public testing::Test {
protected:
  void SetUp() override {
    if (!hasVulkan())
      GTEST_SKIP() << "no Vulkan device or no glslangValidator";
  }
};

constexpr KernelArgument readMemory{KernelArgument::Storage::Memory, false},
    writtenMemory{KernelArgument::Storage::Memory, true},
    weightArgument{KernelArgument::Storage::Weight, false};

} // namespace

TEST_F(WitnessTest, MatrixProduct) {
  constexpr int64_t k = 96, n = 256, m = 77;
  std::vector<float> x = randoms(m * k, 1), w = randoms(n * k, 2), bias = randoms(n, 3), packed;
  for (int64_t panel = 0; panel < n; panel += 16) // [n/16][k][16]
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < 16; ++j)
        packed.push_back(w[static_cast<size_t>((panel + j) * k + i)]);
  packed.insert(packed.end(), bias.begin(), bias.end());
  Witness witness("linear", {readMemory, weightArgument, weightArgument, writtenMemory}, {"m"},
                  packed);
  auto offsets = witness.place({x}, m * n);
  LaunchAddress arguments[] = {{false, offsets[0], m * k * 4},
                               {true, 0, n * k * 4},
                               {true, n * k * 4, n * 4},
                               {false, offsets[1], m * n * 4}};
  int64_t scalars[] = {m};
  LaunchCall call{0, arguments, scalars, {(m + 63) / 64, n / 128, 1}};
  std::vector<float> y = witness.run(call, {offsets[1], m * n * 4});
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double sum = bias[static_cast<size_t>(column)];
      for (int64_t i = 0; i < k; ++i)
        sum += static_cast<double>(x[static_cast<size_t>(row * k + i)]) *
               w[static_cast<size_t>(column * k + i)];
      ASSERT_NEAR(y[static_cast<size_t>(row * n + column)], sum, 1e-4) << row << ", " << column;
    }
  auto seconds = timeLaunch(*witness.device, call, 3, 2);
  ASSERT_TRUE(seconds);
  RecordProperty("gflops", std::to_string(2e-9 * m * n * k / *seconds));
  EXPECT_GT(*seconds, 0);
}

TEST_F(WitnessTest, Attention) {
  constexpr int64_t heads = 3, queries = 70, keys = 75, queryRows = 80, keyRows = 128, size = 64;
  std::vector<float> q = randoms(heads * queryRows * size, 1),
                     k = randoms(heads * keyRows * size, 2), v = randoms(heads * keyRows * size, 3),
                     packed;
  for (int64_t panel = 0; panel < heads * keyRows; panel += 16)
    for (int64_t i = 0; i < size; ++i)
      for (int64_t j = 0; j < 16; ++j)
        packed.push_back(k[static_cast<size_t>((panel + j) * size + i)]);
  Witness witness("attention", {readMemory, readMemory, readMemory, writtenMemory},
                  {"queries", "queryRows", "keys", "keyRows"});
  int64_t outputBytes = heads * queryRows * size * 4;
  auto offsets = witness.place({q, packed, v}, outputBytes / 4);
  LaunchAddress arguments[] = {{false, offsets[0], outputBytes},
                               {false, offsets[1], heads * keyRows * size * 4},
                               {false, offsets[2], heads * keyRows * size * 4},
                               {false, offsets[3], outputBytes}};
  int64_t scalars[] = {queries, queryRows, keys, keyRows};
  std::vector<float> o =
      witness.run({0, arguments, scalars, {heads, 2, 1}}, {offsets[3], outputBytes});
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < queries; ++i) {
      std::vector<double> weights;
      double total = 0;
      for (int64_t j = 0; j < keys; ++j) {
        double score = 0;
        for (int64_t d = 0; d < size; ++d)
          score += static_cast<double>(q[static_cast<size_t>((h * queryRows + i) * size + d)]) *
                   k[static_cast<size_t>((h * keyRows + j) * size + d)];
        weights.push_back(std::exp(score / 8));
        total += weights.back();
      }
      for (int64_t d = 0; d < size; ++d) {
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j)
          sum += weights[static_cast<size_t>(j)] / total *
                 v[static_cast<size_t>((h * keyRows + j) * size + d)];
        ASSERT_NEAR(o[static_cast<size_t>((h * queryRows + i) * size + d)], sum, 1e-5)
            << h << ", " << i << ", " << d;
      }
    }
}
