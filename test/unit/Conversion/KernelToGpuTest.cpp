//===- KernelToGpuTest.cpp - Hand-written bodies on a Vulkan device -------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bodies of test/Conversion/bodies, compiled to SPIR-V and run on the first
// device against plain loops in f64: odd sizes, several tiles, and the language's promise
// that a row's bits depend on nothing but the row. All memory that no input
// fills is NaN.
//
//===----------------------------------------------------------------------===//

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

using namespace heddle;
using namespace heddle::test;

namespace {

using Words = std::vector<uint32_t>;
using Values = std::map<std::string, std::string>;

/// A body with its `$NAME`s replaced.
std::string bodyText(const std::string &name, const Values &values) {
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

Words compile(const std::string &text) {
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
  if (std::getenv("HEDDLE_TEST_DUMP"))
    module->dump();
  auto words = emitSpirv(*module->getOps<mlir::spirv::ModuleOp>().begin());
  EXPECT_TRUE(words);
  if (const char *folder = std::getenv("HEDDLE_TEST_SPIRV")) { // for spirv-val and spirv-dis
    auto info = ::testing::UnitTest::GetInstance()->current_test_info();
    static int count = 0;
    std::ofstream out(std::string(folder) + "/" + info->name() + std::to_string(count++) + ".spv", std::ios::binary);
    out.write(reinterpret_cast<const char *>(words->data()), words->size() * 4);
  }
  return std::move(*words);
}

/// Memory and weights of one launch; places are handed out in order, all of it NaN at first.
class Arena {
public:
  explicit Arena(size_t elements) : elements(elements), buffer(VulkanHarness::get().allocate(elements)) {
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

int tiles(int64_t n, int64_t tile) { return static_cast<int>((n + tile - 1) / tile); }
size_t stored(int64_t n) { return static_cast<size_t>(padded(n)); }
std::string text(int64_t n) { return std::to_string(n); }

//===----------------------------------------------------------------------===//
// Linear
//===----------------------------------------------------------------------===//

struct Linear {
  int64_t m, k, n, rows, columns;
  std::string schedule = "threads = [8, 8]";
};

class LinearRun {
public:
  explicit LinearRun(const Linear &shape)
      : s(shape), memory(4'000'000), weights(2'000'000), x(memory.take(s.m * stored(s.k))),
        r(memory.take(s.m * stored(s.n))), y(memory.take(s.m * stored(s.n))),
        w(weights.take(stored(s.n) * stored(s.k))), b(weights.take(stored(s.n))) {
    Random random;
    dense.resize(s.n * s.k);
    for (float &value : dense)
      value = random();
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.k; ++j)
        memory.at(x)[i * stored(s.k) + j] = random();
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j)
        memory.at(r)[i * stored(s.n) + j] = random();
    for (int64_t i = 0; i < s.n; ++i) {
      weights.at(b)[i] = random();
      for (int64_t j = 0; j < s.k; ++j)
        weights.at(w)[i / 16 * 16 * stored(s.k) + j * 16 + i % 16] = dense[i * s.k + j];
    }
    words = compile(bodyText("linear", {{"ROWS", text(s.rows)}, {"COLUMNS", text(s.columns)}, {"K", text(s.k)},
                                        {"N", text(s.n)}, {"SCHEDULE", s.schedule}}));
  }

  double run(int repeats = 1) {
    std::vector<int32_t> constants = {static_cast<int32_t>(s.m), int32_t(x / 4), int32_t(w / 4), int32_t(b / 4),
                                      int32_t(r / 4), int32_t(y / 4), 0, 0, 0};
    return VulkanHarness::get().run(words, memory.get(), weights.get(), constants,
                                    {tiles(s.m, s.rows), tiles(s.n, s.columns), 1}, repeats);
  }

  double expected(int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t c = 0; c < s.k; ++c)
      sum += double(memory.at(x)[i * stored(s.k) + c]) * dense[j * s.k + c];
    return std::max(sum + weights.at(b)[j], 0.0) + memory.at(r)[i * stored(s.n) + j];
  }

  Linear s;
  Arena memory, weights;
  size_t x, r, y, w, b;
  std::vector<float> dense;
  Words words;
};

class LinearTest : public ::testing::TestWithParam<Linear> {};

TEST_P(LinearTest, AgreesWithLoops) {
  LinearRun run(GetParam());
  ASSERT_FALSE(run.words.empty());
  run.run();
  for (int64_t i = 0; i < run.s.m; ++i)
    for (int64_t j = 0; j < run.s.n; ++j)
      ASSERT_NEAR(run.memory.at(run.y)[i * stored(run.s.n) + j], run.expected(i, j), 1e-4) << i << ", " << j;
  // Nothing is written past the last row.
  float after = run.memory.at(run.y)[run.s.m * stored(run.s.n)];
  EXPECT_TRUE(std::isnan(after)) << after;
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearTest,
                         ::testing::Values(Linear{64, 64, 128, 64, 128}, Linear{37, 70, 128, 64, 128},
                                           Linear{1, 48, 64, 64, 64}, Linear{100, 33, 48, 64, 16, "threads = [8, 4]"},
                                           Linear{65, 128, 96, 64, 32}, Linear{9, 17, 80, 64, 80},
                                           Linear{9, 17, 96, 64, 96}, Linear{9, 3, 96, 64, 48}));

/// A row gives the same bits alone and among others, whatever the tile.
TEST(KernelToGpu, LinearRowsDoNotDependOnTheTile) {
  LinearRun many({67, 100, 128, 64, 128}), few({3, 100, 128, 32, 64, "threads = [4, 8]"});
  // the last rows of the one are all of the other
  for (int64_t i = 0; i < 3; ++i) {
    std::memcpy(few.memory.at(few.x) + i * 112, many.memory.at(many.x) + (64 + i) * 112, 400);
    std::memcpy(few.memory.at(few.r) + i * 128, many.memory.at(many.r) + (64 + i) * 128, 512);
  }
  std::memcpy(few.weights.at(0), many.weights.at(0), (128 * 112 + 128) * 4);
  many.run();
  few.run();
  EXPECT_EQ(std::memcmp(few.memory.at(few.y), many.memory.at(many.y) + 64 * 128, 3 * 128 * 4), 0);
}

} // namespace
