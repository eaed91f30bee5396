//===- RunTo.cpp - Pipelines from one stage to another --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concatenates the stages' pipelines, for a compilation and for named pipelines of heddle-opt.

#include "heddle/Pipelines/Passes.h"
#include "heddle/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace heddle {

namespace {

/// The stage from which `stage` is lowered.
Stage before(Stage stage) {
  switch (stage) {
  case Stage::Gpu:
    return Stage::Tiled;
  case Stage::Asm:
  case Stage::Artifact:
    return Stage::Llvm;
  case Stage::Transformer:
    return Stage::Transformer;
  default:
    return static_cast<Stage>(static_cast<int>(stage) - 1);
  }
}

void addStage(OpPassManager &pm, Stage stage, const StageOptions &options) {
  switch (stage) {
  case Stage::Transformer:
    return buildTransformerPipeline(pm, options);
  case Stage::Fused:
    return buildFusedPipeline(pm);
  case Stage::Program:
    return buildProgramPipeline(pm);
  case Stage::Tiled:
    return buildTiledPipeline(pm, options);
  case Stage::Cpu:
    return buildCpuPipeline(pm, options.isa);
  case Stage::Llvm:
    return buildLlvmPipeline(pm);
  case Stage::Gpu:
    return buildGpuPipeline(pm, options.level);
  case Stage::Spirv:
    return buildSpirvPipeline(pm, options.level);
  case Stage::Asm:
  case Stage::Artifact:
    return; // no passes: Target emits them
  }
}

/// Adds the stages after `from` up to `to`, in order.
void addStages(OpPassManager &pm, Stage from, Stage to, const StageOptions &options) {
  if (to == from)
    return;
  addStages(pm, from, before(to), options);
  addStage(pm, to, options);
}

struct TargetOptions : PassPipelineOptions<TargetOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("`cpu` or `vulkan`"),
                             llvm::cl::init("cpu")};
  Option<std::string> isa{*this, "isa", llvm::cl::desc("instruction set of the CPU"),
                          llvm::cl::init("x86-64-v3")};
  Option<std::string> level{*this, "level", llvm::cl::desc("level of Vulkan devices"),
                            llvm::cl::init("0")};
  Option<std::string> dtype{*this, "dtype", llvm::cl::desc("type of the operands of products"),
                            llvm::cl::init("f32")};
  Option<std::string> cacheDtype{*this, "cache-dtype",
                                 llvm::cl::desc("type of keys and values that sessions keep"),
                                 llvm::cl::init("")};
  Option<bool> training{*this, "training", llvm::cl::desc("make gradients from loss"),
                        llvm::cl::init(false)};
};

/// Registers `heddle-to-<stage>`: all passes after the transformer stage.
void registerStage(Stage stage) {
  std::string name = std::string("heddle-to-") + toString(stage);
  std::string text =
      std::string("bring a module of the transformer stage to the stage ") + toString(stage);
  PassPipelineRegistration<TargetOptions>(
      name, text, [stage](OpPassManager &pm, const TargetOptions &given) {
        StageOptions options;
        options.isa = given.isa;
        options.level = given.level;
        bool gpu = stage == Stage::Gpu || stage == Stage::Spirv || given.target == "vulkan";
        options.target = gpu ? TargetKind::Vulkan : TargetKind::Cpu;
        options.dtype = given.dtype;
        options.cacheDtype = given.cacheDtype;
        options.training = given.training;
        buildTransformerPipeline(pm, options);
        addStages(pm, Stage::Transformer, stage, options);
      });
}

} // namespace

LogicalResult runTo(ModuleOp module, Stage from, Stage to, const StageOptions &options) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  // The verifier after each pass took a fifth of the time of many layers. heddle-opt keeps it.
  pm.enableVerifier(false);
  if (from == to)
    addStage(pm, to, options); // the transformer stage is lowered from itself
  else
    addStages(pm, from, to, options);
  if (failed(pm.run(module)))
    return failure();
#ifdef NDEBUG
  if (from != to)
    return success();
#endif
  return verify(module);
}

void registerPipelines() {
  for (Stage stage : {Stage::Transformer, Stage::Fused, Stage::Program, Stage::Tiled, Stage::Cpu,
                      Stage::Llvm, Stage::Gpu, Stage::Spirv})
    registerStage(stage);
}

} // namespace heddle
