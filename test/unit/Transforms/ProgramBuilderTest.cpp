//===- ProgramBuilderTest.cpp - One kernel in several forms ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the program of one model that was tiled for CPUs and for two levels of
// Vulkan devices.

#include "heddle/Transforms/ProgramBuilder.h"
#include "heddle/Compiler/RegisterAll.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Target/GpuTarget.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"

using namespace heddle;

TEST(ProgramBuilder, AVariantALevel) {
  const char *text = R"(
    func.func @f(%x: tensor<?x?x64xf32> {transformer.name = "x", transformer.dims = ["B", "S", 64]})
        -> tensor<?x?x64xf32> {
      %w = transformer.weight "w" : tensor<64x64xf32>
      %y = transformer.linear %x, %w : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
      return %y : tensor<?x?x64xf32>
    })";
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto outlined = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(mlir::succeeded(runTo(*outlined, Stage::Transformer, Stage::Program)));
  auto tiledFor = [&](TargetKind target) {
    mlir::OwningOpRef<mlir::ModuleOp> module = outlined->clone();
    StageOptions options;
    options.target = target;
    EXPECT_TRUE(mlir::succeeded(runTo(*module, Stage::Program, Stage::Tiled, options)));
    return module;
  };
  auto cpu = tiledFor(TargetKind::Cpu), low = tiledFor(TargetKind::Vulkan),
       high = tiledFor(TargetKind::Vulkan);
  GpuTarget better{{.level = 3, .form = "wide", .subgroup = 32}, {}, {}, gpuTiles};
  auto program = buildProgram(*outlined, {{*cpu}, {*low, &gpuTargets().front()}, {*high, &better}});
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->kernels.size(), 1u);
  const Kernel &kernel = program->kernels.front();
  EXPECT_EQ(kernel.cpu->grid[0].tile, cpuTiles.linearRows);
  ASSERT_EQ(kernel.vulkan.size(), 4u); // one for each level, and its form for few rows
  EXPECT_EQ(kernel.vulkan[0].level, 0);
  EXPECT_EQ(kernel.vulkan[0].grid[0].tile, gpuTiles.linearRows);
  EXPECT_THAT(kernel.vulkan[0].workgroup, testing::ElementsAre(64, 1, 1));
  EXPECT_EQ(kernel.vulkan[0].member, "vulkan/l0/linear.spv");
  EXPECT_TRUE(kernel.vulkan[0].features.empty());
  EXPECT_EQ(kernel.vulkan[0].rows, -1);
  EXPECT_EQ(kernel.vulkan[1].rows, 0);
  EXPECT_EQ(kernel.vulkan[1].mostRows, 8);
  EXPECT_EQ(kernel.vulkan[1].grid[0].tile, 8);
  EXPECT_THAT(kernel.vulkan[1].workgroup, testing::ElementsAre(128, 1, 1));
  EXPECT_EQ(kernel.vulkan[1].member, "vulkan/l0/linear_few.spv");
  EXPECT_EQ(kernel.vulkan[1].windowAxis, kernel.vulkan[0].windowAxis);
  EXPECT_EQ(kernel.vulkan[2].level, 3);
  EXPECT_EQ(kernel.vulkan[2].member, "vulkan/l3-wide/linear.spv");
  EXPECT_EQ(kernel.vulkan[2].subgroup, 32);
  EXPECT_EQ(kernel.vulkan[3].level, 3);
  EXPECT_EQ(kernel.vulkan[3].mostRows, 8);
}
