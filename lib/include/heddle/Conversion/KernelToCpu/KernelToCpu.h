//===- KernelToCpu.h - Lowering of kernels to CPU code ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass `convert-kernel-to-cpu`, which lowers tiled bodies to functions on native vectors.
#pragma once

#include "mlir/Pass/Pass.h"

namespace heddle {

#define GEN_PASS_DECL
#include "heddle/Conversion/KernelToCpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Conversion/KernelToCpu/Passes.h.inc"

} // namespace heddle
