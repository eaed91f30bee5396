//===- ProgramBuilder.h - Program ops to runtime structures ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last step before the artifact: programs and tiled kernels as the structures of
// Support/Program.h.
#pragma once

#include "heddle/Support/Program.h"
#include "heddle/Target/GpuTarget.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// A module at the `tiled` stage.
struct TiledModule {
  mlir::ModuleOp module;
  const GpuTarget *gpu = nullptr; ///< null: tiled for CPUs
};

/// The program of modules that hold the same kernels, tiled for one target each. A workgroup's size
/// comes from the schedule.
Expected<Program> buildProgram(llvm::ArrayRef<TiledModule> tiled);

} // namespace heddle
