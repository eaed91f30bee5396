//===- ObjectCode.h - From the cpu stage to a shared object ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `llvm` and `asm` stages and the CPU member of the artifact. Input is a
// module of the cpu stage: func, llvm, scf, arith, math, vector on native
// vectors, one function a kernel.
#pragma once

#include "heddle/Target/CpuTarget.h"

#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace heddle {

/// The conversions of MLIR to the llvm dialect.
void addLowerToLlvmPasses(mlir::OpPassManager &manager);

/// Registers what the translation to LLVM IR needs.
void registerLlvmTranslation(mlir::DialectRegistry &registry);

/// The object of a module with one kernel, at the stage `cpu` or `llvm`. Several threads may call
/// it.
Expected<std::string> emitCpuObject(mlir::ModuleOp module, const CpuTarget &target);
/// A shared object that imports nothing, linked by LLD in process. Equal objects give equal bytes.
Expected<std::vector<char>> linkSharedObject(const std::vector<std::string> &objects);

/// LLVM IR as it goes to code generation, and assembly, function by function.
Expected<std::string> emitLlvmText(mlir::ModuleOp module, const CpuTarget &target);
Expected<std::string> emitAssembly(mlir::ModuleOp module, const CpuTarget &target);

} // namespace heddle
