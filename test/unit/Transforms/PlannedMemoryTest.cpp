//===- PlannedMemoryTest.cpp - Memory grows linearly with length ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans an encoder layer with causal and padding masks and adds up all buffers
// of its program. No T×T buffer may exist unless the caller requests weights.

#include "heddle/Compiler/RegisterAll.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Transforms/ProgramBuilder.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace heddle;

static std::string layer(bool weights) {
  std::string heads = "tensor<?x4x?x16xf32>", rows = "tensor<?x?x64xf32>";
  std::string text =
      "func.func @encode(%x: " + rows +
      " {transformer.name = \"x\", transformer.dims = [\"B\", \"S\", 64]}, %n: tensor<?xi32> "
      "{transformer.name = \"n\", transformer.dims = [\"B\"]}) -> (" +
      rows + (weights ? ", tensor<?x?x?xf32>" : "") +
      ") {\n"
      "%w = transformer.weight \"w\" : tensor<64x64xf32>\n";
  for (const char *name : {"q", "k", "v"}) {
    std::string n = name;
    text += "%" + n + "w = transformer.weight \"" + n + "\" : tensor<64x64xf32>\n%" + n +
            "0 = transformer.linear %x, %" + n + "w : (" + rows + ", tensor<64x64xf32>) -> " +
            rows + "\n%" + n + " = transformer.split_heads %" + n +
            "0 {heads = 4 : i64} : " + rows + " -> " + heads + "\n";
  }
  text += "%m0 = transformer.mask.lengths %n : tensor<?xi32>\n%m1 = transformer.mask.causal\n%m = "
          "transformer.mask.and %m0, %m1\n";
  text += weights ? "%o, %a" : "%o";
  text += " = transformer.attention %q, %k, %v mask(%m) {scale = 0.25 : f32" +
          std::string(weights ? ", average_weights" : "") + "} : (" + heads + ", " + heads + ", " +
          heads + ") -> " + heads + (weights ? " weights tensor<?x?x?xf32>" : "") + "\n";
  text += "%c = transformer.merge_heads %o : " + heads + " -> " + rows +
          "\n%y = transformer.linear %c, %w : (" + rows + ", tensor<64x64xf32>) -> " + rows +
          "\nreturn %y" + (weights ? ", %a : " + rows + ", tensor<?x?x?xf32>" : " : " + rows) +
          "\n}\n";
  return text;
}

/// Number of elements of all buffers of the first function.
static int64_t plannedElements(const std::string &text, int64_t length) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  EXPECT_TRUE(mlir::succeeded(runTo(*module, Stage::Transformer, Stage::Program)));
  auto program = buildProgram(*module);
  EXPECT_TRUE(program);
  int64_t total = 0;
  for (const Buffer &buffer : program->functions[0].buffers) {
    auto elements = buffer.elements.evaluate({{"B", 2}, {"S", length}});
    EXPECT_TRUE(elements);
    total += *elements;
  }
  return total;
}

TEST(PlannedMemory, GrowsLinearlyWithLength) {
  int64_t once = plannedElements(layer(false), 1024), twice = plannedElements(layer(false), 2048);
  EXPECT_LE(twice, 2 * once);
}

TEST(PlannedMemory, RequestedWeightsAreTheOnlySquare) {
  int64_t plain = plannedElements(layer(false), 2048), weights = plannedElements(layer(true), 2048);
  // B·S·S for the result, and two statistics for each row and head.
  EXPECT_EQ(weights - plain, 2 * 2048 * 2048 + 2 * 2 * 4 * 2048);
}
