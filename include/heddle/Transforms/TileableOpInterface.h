//===- TileableOpInterface.h - How an op becomes tiles ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of TileableOpInterface.td, and the registration of its models.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "mlir/IR/DialectRegistry.h"

namespace heddle {
class ValueTiles;
struct KernelBuilder;
} // namespace heddle

#include "heddle/Transforms/TileableOpInterface.h.inc"

namespace heddle {

/// The kernel that an op begins, or none.
std::optional<kernel::Root> rootOf(mlir::Operation *op);
/// Operands of kernels and the session's bookkeeping.
bool staysBetweenKernels(mlir::Operation *op);

/// Lets ops of the transformer and arith dialects answer TileableOpInterface.
void registerTilers(mlir::DialectRegistry &registry);

} // namespace heddle
