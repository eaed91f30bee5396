//===- GpuBodies.h - Bodies compiled for tests on a device -----*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a body of test/Conversion/bodies, compiles it to SPIR-V, and keeps the
// memory of one launch. All memory that no input fills is NaN.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "VulkanHarness.h"

#include "heddle/Conversion/KernelToGpu/KernelToGpu.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
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

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

namespace heddle::test {

using Words = std::vector<uint32_t>;
using Values = std::map<std::string, std::string>;

/// A body with its `$NAME`s replaced.
inline std::string bodyText(const std::string &name, const Values &values) {
  std::ifstream file(std::string(HEDDLE_SOURCE_DIR "/test/Conversion/bodies/") + name + ".mlir.in");
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

inline Words compile(const std::string &text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<kernel::KernelDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  if (!module)
    return {};
  mlir::PassManager passes(&context);
  passes.addPass(createConvertKernelToGpu());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createFinishSpirv());
  if (failed(passes.run(*module))) {
    ADD_FAILURE() << "the body does not compile";
    return {};
  }
  auto words = emitSpirv(*module->getOps<mlir::spirv::ModuleOp>().begin());
  EXPECT_TRUE(words);
  // For spirv-val and spirv-dis by hand.
  if (const char *folder = std::getenv("HEDDLE_TEST_SPIRV")) {
    auto info = ::testing::UnitTest::GetInstance()->current_test_info();
    static int count = 0;
    std::string name = std::string(info->name()) + "." + std::to_string(count++) + ".spv";
    std::replace(name.begin(), name.end(), '/', '.');
    std::ofstream out(std::string(folder) + "/" + name, std::ios::binary);
    out.write(reinterpret_cast<const char *>(words->data()), words->size() * 4);
  }
  return std::move(*words);
}

/// Memory and weights of one launch; places are handed out in order, all of it NaN at first.
class Arena {
public:
  explicit Arena(size_t elements)
      : elements(elements), buffer(VulkanHarness::get().allocate(elements)) {
    for (size_t i = 0; i < elements; ++i)
      buffer.words()[i] = 0x7fc00000;
  }
  ~Arena() { VulkanHarness::get().release(buffer); }

  /// Offset of `count` new elements.
  size_t take(size_t count) {
    size_t start = used;
    used += (count + 63) / 64 * 64;
    EXPECT_LE(used, elements);
    return start;
  }
  float *at(size_t offset) { return buffer.floats + offset; }
  int32_t *wordsAt(size_t offset) { return buffer.words() + offset; }
  const DeviceBuffer &get() const { return buffer; }

private:
  size_t elements, used = 0;
  DeviceBuffer buffer;
};

struct Random {
  std::mt19937 engine{7};
  float operator()() { return std::uniform_real_distribution<float>(-1, 1)(engine); }
  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(engine); }
};

inline int tiles(int64_t n, int64_t tile) { return static_cast<int>((n + tile - 1) / tile); }
inline size_t stored(int64_t n) { return static_cast<size_t>(padded(n)); }
inline std::string text(int64_t n) { return std::to_string(n); }

} // namespace heddle::test
