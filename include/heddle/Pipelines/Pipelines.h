//===- Pipelines.h - One function a stage ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes are put in order here and nowhere else. Each function brings a module
// from the stage before to its own, and names the dialects alive afterwards; the
// tests of `check-dialects` hold the lists.
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

/// What the stages after `program` need to know.
struct StageOptions {
  TargetKind target = TargetKind::Cpu;
  std::string isa = "x86-64-v3"; ///< of a CPU
  int level = 0;                 ///< of Vulkan devices: GpuTarget.h
  bool countTiles = false;       ///< for tests: attention gives the number of tiles it visits
  std::string dtype = "f32";     ///< of buildTransformerPipeline
};

/// Alive: transformer, arith, tensor, func (builtin modules are always alive).
/// `dtype`: the type to which operands of products are rounded.
void buildTransformerPipeline(mlir::OpPassManager &pm, const std::string &dtype = "f32");

/// Alive: kernel.group around transformer, arith, tensor; func outside them.
void buildFusedPipeline(mlir::OpPassManager &pm);

/// Alive: kernel; inside kernel.def also transformer, arith, tensor.
void buildProgramPipeline(mlir::OpPassManager &pm);

/// Alive: kernel.func with arith, math, scf on tiles.
void buildTiledPipeline(mlir::OpPassManager &pm, const StageOptions &options);

/// Alive: func, llvm, scf, arith, vector on native vectors of the instruction set.
void buildCpuPipeline(mlir::OpPassManager &pm, const std::string &isa);

/// Alive: llvm.
void buildLlvmPipeline(mlir::OpPassManager &pm);

/// Alive: spirv.module holding scf, arith, vector.
void buildGpuPipeline(mlir::OpPassManager &pm, int level = 0);

/// Alive: spirv.
void buildSpirvPipeline(mlir::OpPassManager &pm, int level = 0);

/// Brings a module from stage `from` to stage `to`; `asm` and `artifact` are not MLIR and not
/// reached here. Errors are diagnostics of the module's context.
llvm::LogicalResult runTo(mlir::ModuleOp module, Stage from, Stage to,
                          const StageOptions &options = {});

/// Registers `heddle-to-<stage>` pipelines and `check-dialects` for heddle-opt.
void registerPipelines();

} // namespace heddle
