//===- Passes.h - Passes of the transformer dialect ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes from the transformer dialect to itself, described in Passes.td.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace heddle::transformer {

#define GEN_PASS_DECL
#include "heddle/Dialect/Transformer/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "heddle/Dialect/Transformer/Transforms/Passes.h.inc"

} // namespace heddle::transformer
