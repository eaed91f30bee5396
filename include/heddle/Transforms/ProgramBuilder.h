//===- ProgramBuilder.h - Program ops to runtime structures ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last step before the artifact: programs and tiled kernels as the structures of
// Support/Program.h.
#pragma once

#include "heddle/Support/Program.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// The program of a module at the `tiled` stage; further ones hold the same kernels, tiled for other
/// kinds of device. For Vulkan the members are named `vulkan/<kernel>.spv`; the workgroup size comes
/// from the schedule.
Expected<Program> buildProgram(llvm::ArrayRef<mlir::ModuleOp> tiled);

} // namespace heddle
