//===- LevelsTest.cpp - Kernels of higher levels on a device --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts small hand-written modules like kernels: to words, needs and a file,
// and runs them on the device at their level. Levels that the device lacks are
// skipped.

#include "heddle/Runtime/Vulkan/VulkanCode.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Support/Float.h"
#include "heddle/Support/SpirvFacts.h"
#include "heddle/Support/Text.h"
#include "heddle/Target/GpuTarget.h"
#include "heddle/Target/Spirv.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <cstring>
#include <gmock/gmock.h>

using namespace heddle;

namespace {

class LevelTest : public testing::Test {
protected:
  void SetUp() override {
    auto devices = listVulkanDevices();
    if (!devices)
      GTEST_SKIP() << "no Vulkan device";
    info = devices->front();
  }
  VulkanDeviceInfo info;
};

/// A module for a variant of a level. Memory is an array of vec4 at binding 0. `body` uses its
/// pointer `%memory` and the number `%i` of the invocation.
std::vector<uint32_t> wordsOf(const GpuTarget &target, const std::string &memoryModel,
                              int64_t lanes, const std::string &body) {
  const std::string array = "!spirv.ptr<!spirv.struct<(!spirv.rtarray<vector<4xf32>, stride=16> "
                            "[0]), Block>, StorageBuffer>";
  const std::string text =
      "spirv.module Logical " + memoryModel + " requires #spirv.vce<v1.3, [" +
      listText(target.capabilities) + "], [" +
      (target.extensions.empty() ? "" : listText(target.extensions)) + "]> {\n" +
      "  spirv.GlobalVariable @memory bind(0, 0) : " + array + "\n" +
      "  spirv.GlobalVariable @id built_in(\"LocalInvocationIndex\") : !spirv.ptr<i32, Input>\n" +
      "  spirv.func @main() \"None\" {\n" + "    %zero = spirv.Constant 0 : i32\n" +
      "    %id = spirv.mlir.addressof @id : !spirv.ptr<i32, Input>\n" +
      "    %i = spirv.Load \"Input\" %id : i32\n" +
      "    %memory = spirv.mlir.addressof @memory : " + array + "\n" + body +
      "    spirv.Return\n  }\n" + "  spirv.EntryPoint \"GLCompute\" @main, @id\n" +
      "  spirv.ExecutionMode @main \"LocalSize\", " + std::to_string(lanes) + ", 1, 1\n}\n";
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::spirv::SPIRVDialect>();
  auto module = mlir::parseSourceString<mlir::spirv::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  if (!module)
    return {};
  auto words = emitSpirv(*module);
  EXPECT_TRUE(words) << words.error().message;
  return *words;
}

/// Defines `name` as a pointer to a vec4 of the memory.
std::string placeAt(const std::string &name, const std::string &index) {
  return "    " + name + " = spirv.AccessChain %memory[%zero, " + index +
         "] : !spirv.ptr<!spirv.struct<(!spirv.rtarray<vector<4xf32>, stride=16> [0]), Block>, "
         "StorageBuffer>, i32, i32 -> !spirv.ptr<vector<4xf32>, StorageBuffer>\n";
}
std::string constant(const std::string &name, int64_t value) {
  return "    " + name + " = spirv.Constant " + std::to_string(value) + " : i32\n";
}

/// Runs one workgroup of a module at `level` over `memory`. Returns the variant with its needs.
VulkanVariant runAt(int level, const std::vector<uint32_t> &words, int64_t lanes, int64_t subgroup,
                    std::span<std::byte> memory) {
  Kernel kernel;
  kernel.name = "kernel";
  kernel.arguments = {{KernelArgument::Storage::Memory, true}};
  VulkanVariant variant;
  variant.member = ArtifactWriter::vulkanMember("kernel", std::to_string(level));
  variant.level = level;
  variant.workgroup[0] = static_cast<int32_t>(lanes);
  EXPECT_TRUE(findNeeds(words, subgroup, variant));
  kernel.vulkan = {variant};
  Program program;
  program.model = "{}";
  program.kernels = {kernel};
  ArtifactWriter writer(program);
  writer.addVulkan(variant.member, words);
  auto artifact = writer.build("test", [](std::span<std::byte>) { return Status(); });
  EXPECT_TRUE(artifact) << artifact.error().message;
  auto code = loadVulkanCode(*artifact, 0, level);
  EXPECT_TRUE(code) << code.error().message;
  if (!code)
    return variant;
  auto device = (*code)->createDevice(0);
  EXPECT_TRUE(device) << device.error().message;
  const MemoryRange all{0, static_cast<int64_t>(memory.size())};
  EXPECT_TRUE((*device)->resize(all.bytes, 0));
  EXPECT_TRUE((*device)->begin());
  std::ranges::copy(memory, *(*device)->upload(all));
  const LaunchAddress argument{false, 0, all.bytes};
  EXPECT_TRUE((*device)->launch({.kernel = 0, .arguments = {&argument, 1}}, {}));
  EXPECT_TRUE((*device)->download(all));
  Status finished = (*device)->finish();
  EXPECT_TRUE(finished) << finished.error().message;
  std::ranges::copy((*device)->downloaded(all), memory.begin());
  return variant;
}

} // namespace

TEST_F(LevelTest, OperationsOfSubgroups) {
  if (info.highest < 1)
    GTEST_SKIP() << "no level 1: " << info.beyond;
  const int64_t size = info.subgroups.usual;
  const std::string body =
      placeAt("%p", "%i") + "    %x = spirv.Load \"StorageBuffer\" %p : vector<4xf32>\n" +
      "    %one = spirv.CompositeExtract %x[0 : i32] : vector<4xf32>\n" +
      "    %sum = spirv.GroupNonUniformFAdd <Subgroup> <Reduce> %one : f32 -> f32\n" +
      "    %y = spirv.CompositeConstruct %sum, %sum, %one, %one : (f32, f32, f32, f32) -> "
      "vector<4xf32>\n" +
      "    spirv.Store \"StorageBuffer\" %p, %y : vector<4xf32>\n";
  std::vector<float> memory(static_cast<size_t>(2 * size) * 4, 1.5f);
  VulkanVariant needed = runAt(1, wordsOf(**findGpuTarget("1"), "GLSL450", 2 * size, body),
                               2 * size, size, std::as_writable_bytes(std::span(memory)));
  EXPECT_THAT(needed.features, testing::ElementsAre("subgroupArithmetic"));
  EXPECT_EQ(needed.subgroup, size);
  for (size_t i = 0; i < memory.size(); i += 4)
    EXPECT_EQ(memory[i], 1.5f * static_cast<float>(size)) << i;
}

TEST_F(LevelTest, ProductsOfMatrices) {
  if (info.highest < 2)
    GTEST_SKIP() << "no level 2: " << info.beyond;
  int tested = 0;
  for (const MatrixShape &shape : info.matrices) {
    if (shape.operands != DType::F16 || shape.sums != DType::F32)
      continue;
    const auto [m, n, k] = std::tuple(shape.m, shape.n, shape.k);
    auto type = [](int64_t rows, int64_t columns, const char *element, const char *use) {
      return formatted("!spirv.coopmatrix<%dx%dx%s, Subgroup, %s>", static_cast<int>(rows),
                       static_cast<int>(columns), element, use);
    };
    const std::string a = type(m, k, "f16", "MatrixA"), b = type(k, n, "f16", "MatrixB"),
                      c = type(m, n, "f32", "MatrixAcc"),
                      place = "!spirv.ptr<vector<4xf32>, StorageBuffer>";
    // Positions in vec4: left, right (n x k), sums.
    const int64_t atRight = m * k / 8, atSums = atRight + n * k / 8;
    const std::string body =
        constant("%right", atRight) + constant("%sums", atSums) + constant("%depth", k / 8) +
        constant("%width", n / 4) + placeAt("%pa", "%zero") + placeAt("%pb", "%right") +
        placeAt("%pc", "%sums") +
        "    %a = spirv.KHR.CooperativeMatrixLoad %pa, %depth, <RowMajor> : " + place +
        ", i32 -> " + a + "\n    %b = spirv.KHR.CooperativeMatrixLoad %pb, %depth, " +
        "<ColumnMajor> : " + place + ", i32 -> " + b +
        "\n    %c0 = spirv.KHR.CooperativeMatrixLoad %pc, %width, <RowMajor> : " + place +
        ", i32 -> " + c + "\n    %c = spirv.KHR.CooperativeMatrixMulAdd %a, %b, %c0 : " + a + ", " +
        b + " -> " + c +
        "\n    spirv.KHR.CooperativeMatrixStore %pc, %c, %width, <RowMajor> : " + place + ", " + c +
        ", i32\n";
    const int64_t size = info.subgroups.usual;
    std::vector<std::byte> memory(static_cast<size_t>(atSums * 16 + m * n * 4));
    auto *halves = reinterpret_cast<uint16_t *>(memory.data());
    auto *sums = reinterpret_cast<float *>(memory.data() + atSums * 16);
    auto left = [](int64_t row, int64_t i) { return static_cast<float>((row * 3 + i) % 7 - 3); };
    auto right = [](int64_t column, int64_t i) {
      return static_cast<float>((column + 2 * i) % 5 - 2);
    };
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t row = 0; row < m; ++row)
        halves[row * k + i] = halfFromFloat(left(row, i));
      for (int64_t column = 0; column < n; ++column)
        halves[atRight * 8 + column * k + i] = halfFromFloat(right(column, i));
    }
    std::fill_n(sums, m * n, 0.5f);
    VulkanVariant needed =
        runAt(2, wordsOf(**findGpuTarget("2-16x16x16"), "Vulkan", size, body), size, size, memory);
    EXPECT_THAT(needed.features, testing::Contains("cooperativeMatrix"));
    EXPECT_THAT(needed.matrices, testing::ElementsAre(shape));
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column) {
        float expected = 0.5f;
        for (int64_t i = 0; i < k; ++i)
          expected += left(row, i) * right(column, i);
        EXPECT_EQ(sums[row * n + column], expected) << row << ", " << column;
      }
    ++tested;
  }
  if (tested == 0)
    GTEST_SKIP() << "no matrices of f16";
}

TEST(GpuTarget, ProductsThatMatrixUnitsTake) {
  const GpuTarget &square = **findGpuTarget("2-16x16x16"), &deep = **findGpuTarget("2-16x16x32");
  for (DType rows : {DType::F32, DType::F16}) { // rows of f32 are rounded
    ASSERT_TRUE(square.matrixOf(rows, DType::F16));
    EXPECT_EQ(matrixText(*square.matrixOf(rows, DType::F16)), "f16 16x16x16");
    EXPECT_FALSE(deep.matrixOf(rows, DType::F16)); // has bytes only
  }
  ASSERT_TRUE(deep.matrixOf(DType::I8, DType::I8));
  EXPECT_EQ(matrixText(*deep.matrixOf(DType::I8, DType::I8)), "i8 16x16x32");
  ASSERT_TRUE(square.matrixOf(DType::I8, DType::I4)); // codes are widened to bytes
  EXPECT_EQ(matrixText(*square.matrixOf(DType::I8, DType::I4)), "i8 16x16x16");
  EXPECT_FALSE(square.matrixOf(DType::F32, DType::I4));
  EXPECT_FALSE(square.matrixOf(DType::F32, DType::F32));
  ASSERT_TRUE(square.matrixOf(DType::BF16, DType::BF16));
  EXPECT_EQ(matrixText(*square.matrixOf(DType::BF16, DType::BF16)), "bf16 16x16x16");
  EXPECT_FALSE(square.matrixOf(DType::F32, DType::BF16)); // another kernel rounds the rows before
  EXPECT_FALSE((*findGpuTarget("1-dot"))->matrixOf(DType::I8, DType::I8));
}

/// The lowering divides tiles into matrices without checks.
TEST(GpuTarget, ShapesFitTheTiles) {
  for (const GpuTarget &target : gpuTargets()) {
    SCOPED_TRACE(target.name());
    if (!target.matrixTiles)
      continue;
    // Each invocation of a subgroup has 8 rows, and four invocations are next to each other.
    EXPECT_EQ(target.matrixTiles->linearRows % (8 * target.subgroup / 4), 0);
    for (const MatrixShape &shape : target.matrices) {
      EXPECT_EQ(target.matrixTiles->fewRows, shape.m); // a tile of few rows is one matrix high
      // In narrow tiles a subgroup has four rows for four invocations. In attention two
      // invocations share a row of a matrix.
      EXPECT_THAT(target.subgroup, testing::AnyOf(shape.m, 2 * shape.m));
      EXPECT_EQ(target.matrixTiles->linearColumns.back() % shape.n, 0);
      EXPECT_EQ(formatOf(DType::I4).group % shape.k, 0); // or of a block of 16 words of two
    }
  }
}
