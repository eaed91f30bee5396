//===- GpuBodies.h - Bodies compiled for tests on a device ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runner of GPU tests. It reads a body of test/data/bodies, compiles it to SPIR-V, allocates
// the memory of one launch, and runs it on the runtime's device. All memory that is not an input is
// NaN.
#pragma once

#include "heddle/Conversion/KernelToGpu/KernelToGpu.h"
#include "heddle/Dialect/Kernel/IR/KernelWindow.h"
#include "heddle/Runtime/Vulkan/VulkanCode.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Support/Program.h"
#include "heddle/Target/Spirv.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <span>
#include <sstream>
#include <vector>

namespace heddle::test {

using Values = std::map<std::string, std::string>;

/// A kernel compiled to SPIR-V.
struct Shader {
  std::vector<uint32_t> words;
  std::array<int32_t, 3> workgroup = {1, 1, 1};
  std::optional<kernel::WeightWindow> window = {};
  bool empty() const { return words.empty(); }
};

/// Returns a body in which each `$NAME` is replaced by its value.
inline std::string bodyText(const std::string &name, const Values &values) {
  std::ifstream file(std::string(HEDDLE_SOURCE_DIR "/test/data/bodies/") + name + ".mlir.in");
  std::stringstream stream;
  stream << file.rdbuf();
  std::string text = stream.str(), result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      result += text[i];
      continue;
    }
    size_t end = i + 1;
    while (end < text.size() && std::isupper(static_cast<unsigned char>(text[end])))
      ++end;
    auto value = values.find(text.substr(i + 1, end - i - 1));
    result += value == values.end() ? text.substr(i, end - i) : value->second;
    i = end - 1;
  }
  return result;
}

inline Shader compile(const std::string &text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<kernel::KernelDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  if (!module)
    return {};
  const auto window = kernel::windowOf(*module->getOps<kernel::FuncOp>().begin());
  mlir::PassManager passes(&context);
  passes.addPass(createConvertKernelToGpu());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createFinishSpirv());
  if (failed(passes.run(*module))) {
    ADD_FAILURE() << "the body does not compile";
    return {};
  }
  mlir::spirv::ModuleOp kernel = *module->getOps<mlir::spirv::ModuleOp>().begin();
  auto words = emitSpirv(kernel);
  EXPECT_TRUE(words);
  auto size = kernel->getAttrOfType<mlir::DenseI32ArrayAttr>("workgroup").asArrayRef();
  return {std::move(*words), {size[0], size[1], size[2]}, window};
}

/// Memory or weights of one launch, initialised to NaN and allocated in order.
class Arena {
public:
  Arena(size_t elements, bool weights = false) : values(elements, NAN), weights(weights) {}

  /// Allocates `count` elements and returns their offset.
  size_t take(size_t count) {
    size_t start = used;
    used += (count + 63) / 64 * 64;
    EXPECT_LE(used, values.size());
    return start;
  }
  float *at(size_t offset) { return values.data() + offset; }
  int32_t *wordsAt(size_t offset) { return reinterpret_cast<int32_t *>(at(offset)); }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(values)); }
  /// Returns an argument that starts at `offset`.
  LaunchAddress argument(size_t offset) const {
    return {weights, static_cast<int64_t>(offset) * 4,
            static_cast<int64_t>((values.size() - offset) * 4)};
  }

private:
  std::vector<float> values;
  bool weights;
  size_t used = 0;
};

/// Base of tests that need a device.
class GpuTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto devices = listVulkanDevices();
    if (!devices || devices->empty())
      GTEST_SKIP() << "no Vulkan device";
  }
};

inline Artifact artifactOf(const Shader &shader, Arena &weights,
                           std::span<const LaunchAddress> arguments, size_t scalars) {
  Kernel kernel;
  kernel.name = "kernel";
  for (const LaunchAddress &address : arguments)
    kernel.arguments.push_back(
        {address.weight ? KernelArgument::Storage::Weight : KernelArgument::Storage::Memory,
         !address.weight});
  for (size_t i = 0; i < scalars; ++i)
    kernel.scalars.push_back("d" + std::to_string(i));
  kernel.vulkan = {{{}, ArtifactWriter::vulkanMember("kernel"), shader.workgroup}};
  if (shader.window) {
    kernel.vulkan[0].windowed = static_cast<int>(shader.window->argument);
    kernel.vulkan[0].windowAxis = static_cast<int>(shader.window->axis);
  }
  Program program;
  program.model = "{}";
  program.kernels = {kernel};
  program.weightBytes = static_cast<int64_t>(weights.bytes().size());
  program.weights = {{"all", 0, program.weightBytes / 4}};
  ArtifactWriter writer(program);
  writer.addVulkan(ArtifactWriter::vulkanMember("kernel"), shader.words);
  auto built = writer.build("test", [&](std::span<std::byte> to) {
    std::ranges::copy(weights.bytes(), to.begin());
    return Status();
  });
  EXPECT_TRUE(built) << built.error().message;
  return std::move(*built);
}

/// Runs a kernel over the grid (z, y, x). `memory` receives the contents of the device's memory.
inline void run(const Shader &shader, Arena &memory, Arena &weights,
                const std::vector<int64_t> &scalars, const std::vector<LaunchAddress> &arguments,
                std::array<int64_t, 3> grid) {
  Artifact artifact = artifactOf(shader, weights, arguments, scalars.size());
  auto code = loadVulkanCode(artifact, 0);
  ASSERT_TRUE(code) << code.error().message;
  auto device = (*code)->createDevice(0);
  ASSERT_TRUE(device) << device.error().message;
  MemoryRange all{0, static_cast<int64_t>(memory.bytes().size())};
  ASSERT_TRUE((*device)->resize(all.bytes, 0));
  ASSERT_TRUE((*device)->begin());
  std::ranges::copy(memory.bytes(), *(*device)->upload(all));
  Status launched = (*device)->launch({0, arguments, scalars, grid}, {});
  ASSERT_TRUE(launched) << launched.error().message;
  ASSERT_TRUE((*device)->download(all));
  Status finished = (*device)->finish();
  ASSERT_TRUE(finished) << finished.error().message;
  std::ranges::copy((*device)->downloaded(all), memory.bytes().begin());
}

struct Random {
  std::mt19937 engine{7};
  float operator()() { return std::uniform_real_distribution<float>(-1, 1)(engine); }
  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(engine); }
};

inline int64_t tiles(int64_t n, int64_t tile) { return (n + tile - 1) / tile; }
inline size_t stored(int64_t n) { return static_cast<size_t>(padded(n)); }
inline std::string text(int64_t n) { return std::to_string(n); }

} // namespace heddle::test
