//===- ProgramBuilder.h - Program ops to runtime structures ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts program ops and tiled kernels to the structures of
// Support/Program.h, the last step before the artifact.
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

/// Builds the program of modules that hold the same kernels, tiled for one target each. A plan
/// gives the workgroup's size.
Expected<Program> buildProgram(llvm::ArrayRef<TiledModule> tiled);

} // namespace heddle
