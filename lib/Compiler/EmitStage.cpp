//===- EmitStage.cpp - Text of a stage ------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements `--emit`, which prints the module after a stage. Stages after `tiled` determine their
// target; `tiled` itself is printed for the first target of the options.

#include "CodeGeneration.h"

#include "heddle/Support/Try.h"
#include "heddle/Target/GpuTarget.h"
#include "heddle/Target/ObjectCode.h"
#include "heddle/Target/Spirv.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"

using namespace mlir;

namespace heddle {

namespace {

/// Usage error for targets and instruction sets that a stage does not use.
Status checkStage(Stage stage, llvm::ArrayRef<TargetKind> targets, const CompileOptions &options) {
  bool shaders = stage == Stage::Gpu || stage == Stage::Spirv;
  bool machine = stage == Stage::Cpu || stage == Stage::Llvm || stage == Stage::Asm;
  TargetKind needed = shaders ? TargetKind::Vulkan : TargetKind::Cpu;
  const std::string flag = std::string("--emit=") + toString(stage);
  if ((shaders || machine) && !llvm::is_contained(targets, needed))
    return usageError(flag + ": expected --target=" + (shaders ? "vulkan" : "cpu") +
                      " or none, found --target=" + (shaders ? "cpu" : "vulkan"));
  if (shaders && !options.cpus.empty())
    return usageError(flag + ": expected no --cpu with it, found --cpu=" + options.cpus.front());
  return {};
}

Expected<StageOptions> optionsFor(Stage stage, const CompileOptions &options) {
  auto targets = HEDDLE_TRY(parseTargets(options.targets));
  HEDDLE_TRY(checkStage(stage, targets, options));
  auto cpus = HEDDLE_TRY(checkedCpus(options));
  StageOptions result;
  result.isa = cpus.front();
  result.target = targets.front();
  if (options.vulkanLevel)
    result.level = HEDDLE_TRY(gpuTargetsUpTo(options.vulkanLevel)).back()->name();
  if (stage == Stage::Gpu || stage == Stage::Spirv)
    result.target = TargetKind::Vulkan;
  else if (stage != Stage::Tiled)
    result.target = TargetKind::Cpu;
  return result;
}

/// LLVM IR or assembly of all kernels.
Expected<std::string> machineText(Compilation &compilation, Stage stage,
                                  const StageOptions &options) {
  CpuTarget target = HEDDLE_TRY(findCpuTarget(options.isa));
  auto module = HEDDLE_TRY(compilation.lowered(Stage::Llvm, options));
  return stage == Stage::Llvm ? emitLlvmText(*module, target) : emitAssembly(*module, target);
}

/// Words of the only shader, as bytes.
Expected<std::string> shaderBytes(ModuleOp module) {
  auto shaders = module.getOps<spirv::ModuleOp>();
  auto words = HEDDLE_TRY(emitSpirv(*shaders.begin()));
  return std::string(reinterpret_cast<const char *>(words.data()), words.size() * sizeof(uint32_t));
}

bool hasOneShader(ModuleOp module) {
  return llvm::hasSingleElement(module.getOps<spirv::ModuleOp>());
}

} // namespace

Expected<std::string> emitStage(const std::string &model, Stage stage,
                                const CompileOptions &options, bool binary) {
  if (stage == Stage::Artifact)
    return usageError("--emit=artifact: expected -o FILE.heddle, the artifact is not text");
  CompileOptions withoutWeights = options;
  withoutWeights.needsWeights = false;
  withoutWeights.dtype = HEDDLE_TRY(chooseFormat(model, options.dtype));
  auto stageOptions = HEDDLE_TRY(optionsFor(stage, withoutWeights));
  auto compilation = HEDDLE_TRY(Compilation::load(model, withoutWeights));
  HEDDLE_TRY(compilation->advance(std::min(stage, Stage::Program)));
  if (stage <= Stage::Program)
    return moduleText(compilation->module());
  if (stage == Stage::Llvm || stage == Stage::Asm)
    return machineText(*compilation, stage, stageOptions);
  auto module = HEDDLE_TRY(compilation->lowered(stage, stageOptions));
  if (stage == Stage::Spirv && binary && hasOneShader(*module))
    return shaderBytes(*module);
  return moduleText(*module);
}

} // namespace heddle
