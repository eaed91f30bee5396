//===- ProgramBuilder.h - Program ops to runtime structures -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion of program ops and tiled kernels to the structures of Support/Program.h, the last step
// before the artifact.
#pragma once

#include "heddle/Support/Program.h"
#include "heddle/Support/VulkanLevels.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// A module at the `tiled` stage.
struct TiledModule {
  mlir::ModuleOp module;
  const VulkanLevel *gpu = nullptr; ///< null: tiled for CPUs
};

/// Builds the program of a module at the `program` stage. The grids of its kernels come from
/// `tiled`, one module per target. The plan of a kernel determines the workgroup size.
Expected<Program> buildProgram(mlir::ModuleOp outlined, llvm::ArrayRef<TiledModule> tiled = {});

} // namespace heddle
