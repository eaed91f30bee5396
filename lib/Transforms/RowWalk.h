//===- RowWalk.h - Loops over the columns of wide rows ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the columns of rows that are too wide for a tile, such as rows of a vocabulary. A loop
// carries one number per lane. All row reductions use the same lanes, so the bits of a row depend
// on nothing else.
#pragma once

#include "Tiling.h"

namespace heddle {

/// Loops over the columns of a tile of rows.
class RowWalk {
public:
  /// Walks rows of `size` columns, starting at row `i` of a matrix. `type` is a tile of 16 columns
  /// and gives the number of rows. A tile as wide as a row is one step: invocations of a GPU then
  /// walk on their own.
  RowWalk(TileBuilder &t, mlir::Value rows, mlir::Value i, mlir::RankedTensorType type,
          int64_t size)
      : t(t), rows(rows), i(i), type(type), size(size) {}

  bool isOneStep() const;
  /// Loads the columns starting at `c`.
  mlir::Value load(mlir::Value c);
  /// Returns `tile`, the columns starting at `c`, with `padding` past the end of the row.
  mlir::Value inside(mlir::Value c, mlir::Value tile, mlir::Value padding);
  /// Reduces all columns of a row lane by lane, starting with `start`; then reduces the lanes.
  mlir::Value reduced(kernel::ReduceKind kind, double start,
                      llvm::function_ref<mlir::Value(mlir::Value lanes, mlir::Value column)> next);
  /// Sums the columns of two tiles in one loop, each lane by lane; then the lanes.
  std::pair<mlir::Value, mlir::Value>
  sums(llvm::function_ref<std::pair<mlir::Value, mlir::Value>(mlir::Value column)> next);
  /// Creates a loop over columns that carries `first`, or nothing. There must be more than one
  /// step.
  mlir::scf::ForOp overColumns(mlir::Value first,
                               llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> next);

protected:
  TileBuilder &t;
  mlir::Value rows, i;
  mlir::RankedTensorType type;
  int64_t size;
};

} // namespace heddle
