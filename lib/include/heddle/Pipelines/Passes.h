//===- Passes.h - The pass check-dialects -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass `check-dialects`, with which tests check the list of dialects of each stage.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace heddle {
#define GEN_PASS_DECL
#include "heddle/Pipelines/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Pipelines/Passes.h.inc"
} // namespace heddle
