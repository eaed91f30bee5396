//===- SpirvTest.cpp - Words of a SPIR-V module ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that the words are a SPIR-V 1.3 binary without names and with the
// required decorations, and that they are reproducible.

#include "heddle/Target/Spirv.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace heddle;

static const char *const kText = R"(
  spirv.module @named Logical GLSL450 requires #spirv.vce<v1.3, [Shader], []> {
    spirv.func @main(%a: f32) -> f32 "None" {
      %0 = spirv.FMul %a, %a {no_contraction} : f32
      spirv.ReturnValue %0 : f32
    }
  })";

static std::vector<uint32_t> wordsOf(const char *text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::spirv::SPIRVDialect>();
  auto module = mlir::parseSourceString<mlir::spirv::ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  Expected<std::vector<uint32_t>> words = emitSpirv(*module);
  EXPECT_TRUE(words);
  return *words;
}

/// Number of instructions with this opcode.
static int count(const std::vector<uint32_t> &words, uint32_t opcode) {
  int found = 0;
  for (size_t i = 5; i < words.size(); i += words[i] >> 16)
    found += (words[i] & 0xffff) == opcode;
  return found;
}

static std::vector<uint32_t> capabilities(const std::vector<uint32_t> &words) {
  std::vector<uint32_t> declared;
  for (size_t i = 5; i < words.size(); i += words[i] >> 16)
    if ((words[i] & 0xffff) == 17)
      declared.push_back(words[i + 1]);
  return declared;
}

TEST(Spirv, WordsAreABinaryWithoutNames) {
  std::vector<uint32_t> words = wordsOf(kText);
  ASSERT_GT(words.size(), 5u);
  EXPECT_EQ(words[0], 0x07230203u); // magic number
  EXPECT_EQ(words[1], 0x00010300u); // version 1.3
  EXPECT_EQ(count(words, 5), 0);    // OpName
  EXPECT_EQ(count(words, 133), 1);  // OpFMul
  EXPECT_EQ(count(words, 71), 1);   // OpDecorate: NoContraction
}

TEST(Spirv, AModuleDeclaresWhatItUses) {
  const char *text = R"(
    spirv.module Logical GLSL450 requires #spirv.vce<v1.3, [Shader, Int64, GroupNonUniformBallot,
        GroupNonUniformArithmetic, DotProduct, DotProductInput4x8BitPacked], [SPV_KHR_integer_dot_product]> {
      spirv.func @main(%a: f32, %b: i32) -> f32 "None" {
        %0 = spirv.GroupNonUniformFAdd <Subgroup> <Reduce> %a : f32 -> f32
        spirv.ReturnValue %0 : f32
      }
    })";
  std::vector<uint32_t> words = wordsOf(text);
  EXPECT_EQ(capabilities(words),
            (std::vector<uint32_t>{1, 63})); // Shader, GroupNonUniformArithmetic
  EXPECT_EQ(count(words, 10), 0);            // OpExtension
}

TEST(Spirv, MatricesOfBf16AreDeclared) {
  const char *text = R"(
    spirv.module Logical Vulkan requires #spirv.vce<v1.3, [Shader, VulkanMemoryModel, CooperativeMatrixKHR, BFloat16TypeKHR,
        BFloat16CooperativeMatrixKHR], [SPV_KHR_cooperative_matrix, SPV_KHR_vulkan_memory_model, SPV_KHR_bfloat16]> {
      spirv.func @main(%p: !spirv.ptr<vector<4xf32>, Workgroup>) "None" {
        %c5 = spirv.Constant 5 : i32
        %a = spirv.KHR.CooperativeMatrixLoad %p, %c5, <RowMajor> : !spirv.ptr<vector<4xf32>, Workgroup>, i32 -> !spirv.coopmatrix<16x16xbf16, Subgroup, MatrixA>
        spirv.Return
      }
    })";
  std::vector<uint32_t> words = wordsOf(text);
  EXPECT_EQ(capabilities(words), (std::vector<uint32_t>{1, 5345, 6022, 5116, 5118}));
  EXPECT_EQ(count(words, 10), 3); // OpExtension
}

TEST(Spirv, ExtensionsOfWhatIsUsedStay) {
  const char *text = R"(
    spirv.module Logical GLSL450 requires #spirv.vce<v1.3, [Shader, DotProduct, DotProductInput4x8BitPacked],
        [SPV_KHR_integer_dot_product]> {
      spirv.func @main(%a: i32, %b: i32) -> i32 "None" {
        %0 = spirv.SDot %a, %b, <PackedVectorFormat4x8Bit> : i32 -> i32
        spirv.ReturnValue %0 : i32
      }
    })";
  std::vector<uint32_t> words = wordsOf(text);
  EXPECT_EQ(count(words, 17), 3); // Shader, DotProduct, DotProductInput4x8BitPacked
  EXPECT_EQ(count(words, 10), 1); // SPV_KHR_integer_dot_product
}

TEST(Spirv, EqualModulesGiveEqualWords) { EXPECT_EQ(wordsOf(kText), wordsOf(kText)); }
