//===- CodeGeneration.cpp - Kernels as code of every target ---------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bodies are tiled once for a kind of device. Below, each instruction set
// starts from its own copy.
//
//===----------------------------------------------------------------------===//

#include "CodeGeneration.h"

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Target/ObjectCode.h"
#include "heddle/Target/Spirv.h"
#include "heddle/Transforms/ProgramBuilder.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle {

Expected<std::vector<TargetKind>> checkedTargets(const std::vector<std::string> &names) {
  std::vector<TargetKind> targets;
  for (const std::string &name : names) {
    Expected<TargetKind> target = parseTarget(name);
    if (!target)
      return target.takeError();
    if (!llvm::is_contained(targets, *target))
      targets.push_back(*target);
  }
  if (targets.empty())
    return usageError("--target: expected cpu, vulkan, found none");
  return targets;
}

Expected<std::vector<std::string>> checkedCpus(const std::vector<std::string> &names) {
  std::vector<std::string> cpus;
  for (const std::string &name : names) {
    Expected<CpuTarget> target = findCpuTarget(name);
    if (!target)
      return target.takeError();
    if (!llvm::is_contained(cpus, name))
      cpus.push_back(name);
  }
  if (cpus.empty())
    return usageError("--cpu: expected an instruction set, found none");
  return cpus;
}

Status generateCpu(Compilation &compilation, const std::vector<std::string> &cpus, Program &program,
                   GeneratedCode &code) {
  auto tiled = compilation.lowered(Stage::Tiled, {TargetKind::Cpu, cpus.front()});
  if (!tiled)
    return tiled.takeError();
  if (Status status = addGrids(program, **tiled, "cpu"); !status)
    return status;
  for (const std::string &isa : cpus) {
    Expected<CpuTarget> target = findCpuTarget(isa);
    if (!target)
      return target.takeError();
    auto llvmModule =
        compilation.lowered(**tiled, Stage::Tiled, Stage::Llvm, {TargetKind::Cpu, isa});
    if (!llvmModule)
      return llvmModule.takeError();
    Expected<std::vector<char>> object = emitCpuSharedObject(**llvmModule, *target);
    if (!object)
      return object.takeError();
    code.cpu.push_back({isa, target->required, std::move(*object)});
  }
  return {};
}

Status generateVulkan(Compilation &compilation, Program &program, GeneratedCode &code) {
  auto tiled = compilation.lowered(Stage::Tiled, {TargetKind::Vulkan, ""});
  if (!tiled)
    return tiled.takeError();
  if (Status status = addGrids(program, **tiled, "vulkan"); !status)
    return status;
  auto shaders = compilation.lowered(**tiled, Stage::Tiled, Stage::Spirv, {TargetKind::Vulkan, ""});
  if (!shaders)
    return shaders.takeError();
  for (auto module : (**shaders).getOps<spirv::ModuleOp>()) {
    Expected<std::vector<uint32_t>> words = emitSpirv(module);
    if (!words)
      return words.takeError();
    code.shaders.push_back({module.getName().value_or("").str(), std::move(*words)});
  }
  return {};
}

} // namespace heddle
