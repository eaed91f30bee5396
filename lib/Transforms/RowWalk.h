//===- RowWalk.h - Rows of a matrix, 16 columns at a time ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows may be as wide as a vocabulary, too wide for a tile. Loops go over a row
// and carry one number a lane; the lanes are those of every row reduction, so
// that a row's bits depend on nothing else.
#pragma once

#include "Tiling.h"

namespace heddle {

/// Loops over the columns of some rows.
class RowWalk {
public:
  /// Walks rows of `size` columns from row `i` of a matrix on, as many as `type`, a tile of 16
  /// columns, has. A tile as wide as a row is one step: invocations of a GPU walk by themselves.
  RowWalk(TileBuilder &t, mlir::Value rows, mlir::Value i, mlir::RankedTensorType type,
          int64_t size)
      : t(t), rows(rows), i(i), type(type), size(size) {}

  bool isOneStep() const;
  /// Loads the columns from `c` on.
  mlir::Value load(mlir::Value c);
  /// `tile`, of the columns from `c` on, with `padding` past the end of the row.
  mlir::Value inside(mlir::Value c, mlir::Value tile, mlir::Value padding);
  /// Combines all columns of a row lane by lane, from `start` on; then the lanes.
  mlir::Value reduced(kernel::ReduceKind kind, double start,
                      llvm::function_ref<mlir::Value(mlir::Value lanes, mlir::Value column)> next);
  /// Creates a loop over columns that carries `first`, or nothing. Not of one step.
  mlir::scf::ForOp overColumns(mlir::Value first,
                               llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> next);

protected:
  TileBuilder &t;
  mlir::Value rows, i;
  mlir::RankedTensorType type;
  int64_t size;
};

} // namespace heddle
