//===- CompilerTest.cpp - Model in, artifact out --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the compiler's interface: equal bytes, the members, and one-line
// errors.

#include "heddle/Compiler/Compiler.h"
#include "TemporaryFolder.h"
#include "heddle/Support/Artifact.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>

using namespace heddle;
namespace fs = std::filesystem;

namespace {

const std::string embedModel = HEDDLE_SOURCE_DIR "/examples/embed/model.json";

struct Compiler : testing::Test {
  test::TemporaryFolder temporary;
  fs::path folder = temporary.path();
  std::string write(const char *name, const std::string &text) {
    return temporary.write(name, text);
  }
};

std::string bytesOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST_F(Compiler, TwoCompilesGiveEqualBytes) {
  std::string first = folder / "a.heddle", second = folder / "b.heddle";
  CompileOptions options;               // both devices, three instruction sets
  setenv("HEDDLE_CACHE_LIMIT", "0", 1); // otherwise the second is the cached result of the first
  for (const std::string &path : {first, second}) {
    auto report = compileModel(embedModel, path, options);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->cachedPieces, 0);
    EXPECT_GT(report->kernels, 0);
    EXPECT_GT(report->weightBytes, 0);
  }
  EXPECT_EQ(bytesOf(first), bytesOf(second));
  Expected<Artifact> artifact = readArtifact(first);
  ASSERT_TRUE(artifact) << artifact.error().message;
  EXPECT_EQ(artifact->cpu().size(), 3u);
  EXPECT_TRUE(artifact->hasVulkan());
  EXPECT_FALSE(artifact->fused()->empty());
  EXPECT_TRUE(artifact->check());
}

TEST_F(Compiler, UnknownPrecisionsAreWrongUsage) {
  CompileOptions options;
  options.dtype = "int2";
  auto report = compileModel(embedModel, folder / "x.heddle", options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message,
            "--dtype: expected f32, bf16, f16, f16-sum, int8, int4 or file, found 'int2'");
  EXPECT_FALSE(fs::exists(folder / "x.heddle"));
}

TEST_F(Compiler, UnknownTargetsAndInstructionSetsAreWrongUsage) {
  CompileOptions options;
  options.targets = {"cuda"};
  auto report = compileModel(embedModel, folder / "x.heddle", options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::Usage);
  options.targets = {"cpu"};
  options.cpus = {"x86-64-v9"};
  EXPECT_FALSE(compileModel(embedModel, folder / "x.heddle", options));
}

TEST_F(Compiler, AVerifierErrorIsOneLineWithItsPlace) {
  std::string path = write(
      "heads.mlir",
      R"mlir(func.func @f(%q: tensor<?x8x?x64xf32>, %k: tensor<?x3x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %o = transformer.attention %q, %k, %k {scale = 0.125 : f32}
     : (tensor<?x8x?x64xf32>, tensor<?x3x?x64xf32>, tensor<?x3x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}
)mlir");
  auto text = emitStage(path, Stage::Transformer);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::Input);
  EXPECT_NE(text.error().message.find("heads.mlir:2:8: 'transformer.attention' op C"),
            std::string::npos)
      << text.error().message;
  EXPECT_EQ(text.error().message.find('\n'), std::string::npos);
}

/// An attention whose mask adds up `tables` tables.
static std::string manyTables(int tables) {
  std::string arguments, ops;
  for (int n = 0; n < tables; ++n) {
    std::string id = std::to_string(n), sum = n ? "%s" + std::to_string(n - 1) : "%zero";
    arguments += ", %t" + id + ": tensor<?xi32>";
    ops += "    %x" + id + " = transformer.mask.load %t" + id + "[%j] : tensor<?xi32>\n    %s" +
           id + " = arith.addi " + sum + ", %x" + id + " : i32\n";
  }
  return "func.func @f(%q: tensor<?x2x?x16xf32>, %k: tensor<?x2x?x16xf32>, "
         "%v: tensor<?x2x?x16xf32>" +
         arguments +
         ") -> tensor<?x2x?x16xf32> {\n  %m = transformer.mask.where {\n"
         "  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):\n    %zero = arith.constant 0 : i32\n" +
         ops + "    %r = arith.cmpi sgt, %s" + std::to_string(tables - 1) +
         ", %zero : i32\n    transformer.yield %r : i1\n  }\n"
         "  %o = transformer.attention %q, %k, %v mask(%m) {scale = 0.25 : f32} : "
         "(tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>) -> "
         "tensor<?x2x?x16xf32>\n  return %o : tensor<?x2x?x16xf32>\n}\n";
}

/// Kernels are compiled on several threads. The diagnostics of their ops become the error
/// nevertheless.
TEST_F(Compiler, AKernelThatCannotBeSaysWhy) {
  CompileOptions options;
  options.targets = {"vulkan"};
  auto artifact = compileToMemory(write("tables.mlir", manyTables(260)), options);
  ASSERT_FALSE(artifact);
  EXPECT_EQ(artifact.error().kind, ErrorKind::Input);
  EXPECT_NE(artifact.error().message.find("expected at most 512 scalars and arguments, found 5"),
            std::string::npos)
      << artifact.error().message;
}

TEST_F(Compiler, EveryStageHasText) {
  for (Stage stage : {Stage::Transformer, Stage::Fused, Stage::Program, Stage::Tiled, Stage::Cpu,
                      Stage::Llvm, Stage::Asm, Stage::Gpu, Stage::Spirv}) {
    auto text = emitStage(embedModel, stage);
    ASSERT_TRUE(text) << toString(stage) << ": " << text.error().message;
    EXPECT_GT(text->size(), 100u) << toString(stage);
  }
}
