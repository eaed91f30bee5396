//===- Passes.h - Passes of the mid-end -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mid-end passes: group, outline, tile. Pipelines defines their order.
#pragma once

#include "mlir/Pass/Pass.h"

namespace heddle {
#define GEN_PASS_DECL
#include "heddle/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle
