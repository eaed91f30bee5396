//===- Pipelines.h - One function a stage ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pipeline for each stage; passes are put in order only here. A function
// brings a module from the stage before to its own and names the dialects alive
// afterwards. The tests of `check-dialects` check these lists.
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

/// Options of the stages from `program` on, and the pipeline's dtype.
struct StageOptions {
  TargetKind target = TargetKind::Cpu;
  std::string isa = "x86-64-v3"; ///< instruction set of a CPU
  std::string level = "0";       ///< level of Vulkan devices: a name of GpuTarget.h
  std::string dtype = "f32";     ///< type of product operands, as in buildTransformerPipeline
  std::string cacheDtype; ///< type of keys and values that sessions keep; empty: it follows `dtype`
};

/// Alive: transformer, arith, tensor, func (builtin modules are always alive).
/// `dtype`: the number format of products' operands; `cacheDtype`: the type of keys and values that
/// sessions keep, which follows `dtype` where it is empty.
void buildTransformerPipeline(mlir::OpPassManager &pm, const std::string &dtype = "f32",
                              const std::string &cacheDtype = "");

/// Alive: kernel.group around transformer, arith, tensor; func outside them.
void buildFusedPipeline(mlir::OpPassManager &pm);

/// Alive: kernel (program and def); inside kernel.def also transformer, arith, tensor.
void buildProgramPipeline(mlir::OpPassManager &pm);

/// Alive: kernel (program and func); inside kernel.func also arith, math, scf, on tiles.
void buildTiledPipeline(mlir::OpPassManager &pm, const StageOptions &options);

/// Alive: func, llvm, scf, arith, math, vector, on native vectors of the instruction set.
void buildCpuPipeline(mlir::OpPassManager &pm, const std::string &isa);

/// Alive: llvm.
void buildLlvmPipeline(mlir::OpPassManager &pm);

/// Alive: spirv functions in nested modules, holding scf, arith, math, vector.
void buildGpuPipeline(mlir::OpPassManager &pm, const std::string &level = "0");

/// Alive: spirv.
void buildSpirvPipeline(mlir::OpPassManager &pm, const std::string &level = "0");

/// Brings a module from stage `from` to stage `to`, but not to `asm` or `artifact`, which are not
/// MLIR. Errors are diagnostics of the module's context.
llvm::LogicalResult runTo(mlir::ModuleOp module, Stage from, Stage to,
                          const StageOptions &options = {});

/// Registers `heddle-to-<stage>` pipelines and `check-dialects` for heddle-opt.
void registerPipelines();

} // namespace heddle
