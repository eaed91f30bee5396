//===- TileableOpInterface.h - Grouping and tiling --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of TileableOpInterface.td, and the registration of its external models.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "mlir/IR/DialectRegistry.h"

namespace heddle {
class ValueTiles;
struct KernelBuilder;
} // namespace heddle

#include "heddle/Transforms/TileableOpInterface.h.inc"

namespace heddle {

/// Returns the root with which `op` begins a kernel, or nullopt if it stays between kernels.
std::optional<kernel::Root> rootOf(mlir::Operation *op);
/// Whether `op` is an operand of kernels or bookkeeping of the session.
bool staysBetweenKernels(mlir::Operation *op);

/// Attaches the external models of TileableOpInterface to transformer and arith ops.
void registerTilers(mlir::DialectRegistry &registry);

} // namespace heddle
