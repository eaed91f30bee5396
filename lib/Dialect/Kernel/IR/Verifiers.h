//===- Verifiers.h - Checks that several ops share --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of tiles and views that the verifiers of several ops share. `rule` is the constraint that
// an error names.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

namespace heddle::kernel {

inline ViewType viewOf(mlir::Value value) { return llvm::cast<ViewType>(value.getType()); }

inline mlir::LogicalResult verifyElement(mlir::Operation *op, llvm::StringRef rule,
                                         mlir::RankedTensorType tile, mlir::Type element) {
  if (tile.getElementType() == element)
    return mlir::success();
  return op->emitOpError() << rule << ": expected elements of " << element << ", found "
                           << tile.getElementType();
}

inline mlir::LogicalResult verifyIndices(mlir::Operation *op, llvm::StringRef rule, ViewType view,
                                         size_t indices) {
  if (static_cast<int64_t>(indices) == view.getRank())
    return mlir::success();
  return op->emitOpError() << rule << ": expected one index a dimension: " << view.getRank()
                           << ", found " << indices;
}

inline mlir::LogicalResult verifyRows(mlir::Operation *op, llvm::StringRef rule,
                                      mlir::RankedTensorType tile, int64_t rows) {
  if (tile.getDimSize(0) == rows)
    return mlir::success();
  return op->emitOpError() << rule << ": expected " << rows << " rows, found "
                           << tile.getDimSize(0);
}

/// Checks that tiles of `visit` columns divide the columns of a tile, and that their bits fit an
/// i32.
inline mlir::LogicalResult verifyVisitTile(mlir::Operation *op, llvm::StringRef rule, int64_t visit,
                                           mlir::RankedTensorType tile) {
  int64_t columns = tile.getDimSize(1);
  if (visit <= 0 || columns % visit != 0 || columns / visit > 32)
    return op->emitOpError() << rule << ": expected column tiles that divide " << columns
                             << " columns into at most 32, found " << visit;
  return mlir::success();
}

} // namespace heddle::kernel
