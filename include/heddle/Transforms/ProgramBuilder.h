//===- ProgramBuilder.h - Program ops to runtime structures ----*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last step before the artifact: the `program` stage as the structures of
// Support/Program.h. Kernels get their arguments and scalars here; their grids come
// from the tiled stage of each target.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Support/Program.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// Functions, weights, packing and kernels (without code) of a module at the `program` stage.
Expected<Program> buildProgram(mlir::ModuleOp program);

/// Fills the grids of `target` ("cpu" or "vulkan") from a module at the `tiled` stage. For Vulkan
/// the members are named `vulkan/<kernel>.spv`; the workgroup size comes from the schedule.
Status addGrids(Program &program, mlir::ModuleOp tiled, llvm::StringRef target);

} // namespace heddle
