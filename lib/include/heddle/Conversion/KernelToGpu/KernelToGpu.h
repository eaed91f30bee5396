//===- KernelToGpu.h - Lowering of kernels to SPIR-V ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that lower `kernel.func` to SPIR-V for a level of Vulkan devices.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace heddle {
#define GEN_PASS_DECL
#include "heddle/Conversion/KernelToGpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Conversion/KernelToGpu/Passes.h.inc"
} // namespace heddle
