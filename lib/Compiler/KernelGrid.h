//===- KernelGrid.h - Grids of tiled kernels as data -----------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime has to know of a tiled kernel to start it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Pipelines/Stage.h"
#include "heddle/Support/Program.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace heddle {

/// Fills the code of every kernel of `program` for `target` from the module's kernel.func ops: the grid of each.
/// A kernel without a body, or with other scalars than the program's, is a defect of ours.
Status fillKernelGrids(mlir::ModuleOp tiled, TargetKind target, Program &program);

} // namespace heddle
