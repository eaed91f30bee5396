//===- Pipelines.h - Pass pipelines of the stages ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines of all stages. Passes are ordered only here. Each function brings a module from the
// previous stage to its own and names the dialects that are legal afterwards. Tests of
// `check-dialects` check these lists.
#pragma once

#include "heddle/Pipelines/Stage.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
class OpPassManager;
} // namespace mlir
namespace llvm {
struct LogicalResult;
} // namespace llvm

namespace heddle {

/// Options of the stages after `program`, and the pipeline's dtype.
struct StageOptions {
  TargetKind target = TargetKind::Cpu;
  std::string isa = "x86-64-v3"; ///< instruction set of a CPU
  std::string level = "0";       ///< level of Vulkan devices: a name of GpuTarget.h
  std::string dtype = "f32";     ///< type of product operands, as in buildTransformerPipeline
  std::string cacheDtype;        ///< type of cached keys and values; empty: it follows `dtype`
  bool training = false;         ///< the function `gradients` is made from `loss`
};

/// Legal: transformer, arith, tensor, func (builtin modules are always legal).
/// Takes `dtype`, `cacheDtype` and `training` from the options.
void buildTransformerPipeline(mlir::OpPassManager &pm, const StageOptions &options);

/// Legal: kernel.group around transformer, arith, tensor; func outside groups.
void buildFusedPipeline(mlir::OpPassManager &pm);

/// Legal: kernel (program and def); inside kernel.def also transformer, arith, tensor.
void buildProgramPipeline(mlir::OpPassManager &pm);

/// Legal: kernel (program and func); inside kernel.func also arith, math, scf, on tiles.
void buildTiledPipeline(mlir::OpPassManager &pm, const StageOptions &options);

/// Legal: func, llvm, scf, arith, math, vector, on native vectors of the instruction set.
void buildCpuPipeline(mlir::OpPassManager &pm, const std::string &isa);

/// Legal: llvm.
void buildLlvmPipeline(mlir::OpPassManager &pm);

/// Legal: spirv functions in nested modules, which contain scf, arith, math, vector.
void buildGpuPipeline(mlir::OpPassManager &pm, const std::string &level = "0");

/// Legal: spirv.
void buildSpirvPipeline(mlir::OpPassManager &pm, const std::string &level = "0");

/// Lowers a module from stage `from` to stage `to`, except to `asm` or `artifact`, which are not
/// MLIR. Errors are diagnostics of the module's context.
llvm::LogicalResult runTo(mlir::ModuleOp module, Stage from, Stage to,
                          const StageOptions &options = {});

/// Registers `heddle-to-<stage>` pipelines and `check-dialects` for heddle-opt.
void registerPipelines();

} // namespace heddle
