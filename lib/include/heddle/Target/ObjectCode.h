//===- ObjectCode.h - From the cpu stage to a shared object ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation for CPUs: the stages `llvm` and `asm`, and the CPU member of
// the artifact. The input is a module of stage `cpu` with one function for each
// kernel: func, llvm, scf, arith, math, and vector on native vectors.
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

/// Adds MLIR's conversions to the llvm dialect.
void addLowerToLlvmPasses(mlir::OpPassManager &manager);

/// Registers the dialect translations to LLVM IR.
void registerLlvmTranslation(mlir::DialectRegistry &registry);

/// The object file of a module with one kernel, at stage `cpu` or `llvm`. Thread-safe.
Expected<std::string> emitCpuObject(mlir::ModuleOp module, const CpuTarget &target);
/// Links a shared object without imports, with LLD in this process. Equal objects yield equal
/// bytes. Thread-safe; links run one at a time.
Expected<std::vector<char>> linkSharedObject(const std::vector<std::string> &objects);

/// LLVM IR as the code generator receives it, and assembly, function by function.
Expected<std::string> emitLlvmText(mlir::ModuleOp module, const CpuTarget &target);
Expected<std::string> emitAssembly(mlir::ModuleOp module, const CpuTarget &target);

} // namespace heddle
