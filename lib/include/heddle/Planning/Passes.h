//===- Passes.h - The planning pass -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/Pass/Pass.h"

namespace heddle {
#define GEN_PASS_DECL
#include "heddle/Planning/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Planning/Passes.h.inc"
} // namespace heddle
