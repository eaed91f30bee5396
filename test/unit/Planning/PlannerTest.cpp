//===- PlannerTest.cpp - Properties of all plans --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans of a model's definitions for CPUs and for every level of Vulkan devices.
// test/lit/Transforms/plans.mlir holds single plans.

#include "heddle/Planning/Planner.h"

#include "heddle/Compiler/RegisterAll.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Target/GpuTarget.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"

using namespace heddle;

namespace {

/// A layer with heads of 48 features: a linear with three parts, attention, a gated layer, a norm.
constexpr const char *layer = R"(
func.func @f(%x: tensor<?x?x384xf32> {transformer.name = "x", transformer.dims = ["B", "S", 384]})
    -> tensor<?x?x384xf32> {
  %g = transformer.weight "g" : tensor<384xf32>
  %q = transformer.weight "q" : tensor<384x384xf32>
  %k = transformer.weight "k" : tensor<384x384xf32>
  %v = transformer.weight "v" : tensor<384x384xf32>
  %u = transformer.weight "u" : tensor<4096x384xf32>
  %t = transformer.weight "t" : tensor<4096x384xf32>
  %d = transformer.weight "d" : tensor<384x4096xf32>
  %n = transformer.rms_norm %x, %g {epsilon = 1.0e-05 : f32} : (tensor<?x?x384xf32>, tensor<384xf32>) -> tensor<?x?x384xf32>
  %a = transformer.linear %n, %q : (tensor<?x?x384xf32>, tensor<384x384xf32>) -> tensor<?x?x384xf32>
  %b = transformer.linear %n, %k : (tensor<?x?x384xf32>, tensor<384x384xf32>) -> tensor<?x?x384xf32>
  %c = transformer.linear %n, %v : (tensor<?x?x384xf32>, tensor<384x384xf32>) -> tensor<?x?x384xf32>
  %qs = transformer.split_heads %a {heads = 8 : i64} : tensor<?x?x384xf32> -> tensor<?x8x?x48xf32>
  %ks = transformer.split_heads %b {heads = 8 : i64} : tensor<?x?x384xf32> -> tensor<?x8x?x48xf32>
  %vs = transformer.split_heads %c {heads = 8 : i64} : tensor<?x?x384xf32> -> tensor<?x8x?x48xf32>
  %o = transformer.attention %qs, %ks, %vs {scale = 0.25 : f32} : (tensor<?x8x?x48xf32>, tensor<?x8x?x48xf32>, tensor<?x8x?x48xf32>) -> tensor<?x8x?x48xf32>
  %m = transformer.merge_heads %o : tensor<?x8x?x48xf32> -> tensor<?x?x384xf32>
  %e = transformer.linear %m, %u {activation = #transformer.activation<relu>} : (tensor<?x?x384xf32>, tensor<4096x384xf32>) -> tensor<?x?x4096xf32>
  %h = transformer.linear %m, %t : (tensor<?x?x384xf32>, tensor<4096x384xf32>) -> tensor<?x?x4096xf32>
  %p = arith.mulf %e, %h : tensor<?x?x4096xf32>
  %y = transformer.linear %p, %d : (tensor<?x?x4096xf32>, tensor<384x4096xf32>) -> tensor<?x?x384xf32>
  return %y : tensor<?x?x384xf32>
})";

class PlannerTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(layer, &context);
    ASSERT_TRUE(module);
    StageOptions options;
    options.dtype = GetParam();
    ASSERT_TRUE(mlir::succeeded(runTo(*module, Stage::Transformer, Stage::Program, options)));
  }

  /// Calls `check` with each plan for `gpu`, or with null for CPUs.
  void eachPlan(const GpuTarget *gpu, llvm::function_ref<void(kernel::DefOp, KernelPlan)> check) {
    for (auto def : module->getOps<kernel::DefOp>()) {
      SCOPED_TRACE(def.getSymName().str() + " for " + (gpu ? gpu->name() : "CPUs"));
      mlir::FailureOr<KernelPlans> plans = planKernel(def, gpu);
      ASSERT_TRUE(mlir::succeeded(plans));
      check(def, plans->kernel);
      if (plans->fewRows.plan)
        check(def, plans->fewRows);
    }
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_P(PlannerTest, EveryPlanHasATileAndAReason) {
  int plans = 0;
  auto check = [&](kernel::DefOp, const KernelPlan &plan) {
    EXPECT_GE(plan.plan.getTile().size(), 2);
    EXPECT_FALSE(plan.reason.empty());
    ++plans;
  };
  eachPlan(nullptr, check);
  for (const GpuTarget &gpu : gpuTargets())
    eachPlan(&gpu, check);
  EXPECT_GT(plans, 20);
}

TEST_P(PlannerTest, WorkgroupsFitTheirLevel) {
  for (const GpuTarget &gpu : gpuTargets())
    eachPlan(&gpu, [&](kernel::DefOp, const KernelPlan &plan) {
      EXPECT_LE(plan.plan.getDown() * plan.plan.getAcross(), gpu.invocations);
      if (gpu.subgroup && kernel::usesMatrixUnit(plan.plan.getMapping()))
        EXPECT_EQ(plan.plan.getDown() * plan.plan.getAcross() % gpu.subgroup, 0);
    });
}

TEST_P(PlannerTest, StagedTilesAreWholeBlocksOfInvocations) {
  for (const GpuTarget &gpu : gpuTargets())
    eachPlan(&gpu, [&](kernel::DefOp, const KernelPlan &plan) {
      if (!kernel::stages(plan.plan.getMapping()))
        return;
      EXPECT_EQ(plan.plan.getRows() % plan.plan.getDown(), 0);
      EXPECT_GE(plan.plan.getBlock(), 8);
    });
}

TEST_P(PlannerTest, PlansAreTheSameTwice) {
  for (const GpuTarget &gpu : gpuTargets()) {
    std::vector<mlir::Attribute> first, second;
    eachPlan(&gpu, [&](kernel::DefOp, const KernelPlan &plan) { first.push_back(plan.plan); });
    eachPlan(&gpu, [&](kernel::DefOp, const KernelPlan &plan) { second.push_back(plan.plan); });
    EXPECT_EQ(first, second);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PlannerTest, testing::Values("f32", "f16", "bf16", "int8", "int4"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
