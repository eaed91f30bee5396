//===- KernelInterfaces.h - Products and stores -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interfaces of KernelInterfaces.td, and the types that their methods use.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelTypes.h"
#include "heddle/Support/Formats.h"

#include "mlir/IR/OpDefinition.h"

namespace heddle::kernel {

/// Rows of the right operand of a product.
struct RowRange {
  mlir::Value from;      ///< first row; null: 0
  mlir::Value to;        ///< end of the rows; null: all rows of the tile
  mlir::Value visited;   ///< i32, one bit for each tile of rows; null: all tiles are read
  int64_t visitTile = 0; ///< rows of such a tile
};

namespace detail {
bool isWeight(mlir::Value view);
const NumberFormat *findFormat(mlir::Value left, mlir::Value right);
bool convertsRight(const NumberFormat &format, mlir::Value right);
/// Columns of all heads of a view, without padding.
Size columnsOfHeads(ViewType view);
/// Columns of a tile over the heads of a view that are contiguous from each multiple of it on.
int64_t piecesOfHeads(ViewType view);
} // namespace detail

} // namespace heddle::kernel

#include "heddle/Dialect/Kernel/IR/KernelInterfaces.h.inc"
