//===- TileLoops.h - Loops over a tile's rows and columns -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the register tiles of a tile, and the position of the current register tile. The ops
// of a body determine the bounds of the loops; callbacks emit the computation.
#pragma once

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"
#include "heddle/Target/CpuTarget.h"

#include "llvm/ADT/SmallSet.h"

namespace heddle::kernel {

/// Register tile of a body, and tile widths that need clipping; computed in CpuPlan.cpp.
struct CpuPlan {
  int64_t tileRows = 1;        ///< rows of the body's tiles
  CpuFragment fragment{1, 16}; ///< rows and columns of the register tile
  int64_t fewRows = 0;         ///< rows of the register tile for the last rows; 0: none
  int64_t fewColumns = 0;      ///< columns of the narrow register tile
  bool oneRow = false;         ///< a single row has its own register tile
  int64_t packsFrom = 0; ///< minimum rows of a tile for which the large register tile reads packed
                         ///< panels
  int64_t visitTile = 1 << 20; ///< columns of the narrowest tile that a mask bit covers
  llvm::SmallSet<int64_t, 4> clippedColumns; ///< tile widths that may exceed a view's columns

  /// Whether a tile has at most one large register tile, so that little is read twice.
  bool hasOneLarge() const { return tileRows < 2 * fragment.rows; }
};

/// Largest value of an index, if the grid, loop bounds and constants determine it.
std::optional<int64_t> largestIndex(mlir::Value index);
mlir::FailureOr<CpuPlan> planBody(mlir::Block &body, const CpuTarget &target);

/// Columns [from, to) of a tile; a null bound is the bound of the tile.
struct ColumnRange {
  mlir::Value from, to;
};

using Registers = llvm::SmallVector<mlir::Value>;

/// Turns in which the large register tiles of a tile share work, such as the prefetch of the next
/// panels. More turns mean fewer prefetched lines in flight next to the tile's own loads.
struct Turns {
  mlir::Value areFew; ///< i1: fewer than four large register tiles run, and each takes two turns
  mlir::Value bits;   ///< log2 of the number of turns: 2 to 4, more turns for more tiles
};

/// Position of the current register tile: in a loop over rows, and for wide tiles in a loop over
/// columns. Null is the first row or column.
struct TileContext {
  int64_t rows = 1;
  mlir::Value row;
  Turns turns;
  mlir::Value column;      ///< null: in no loop over columns
  int64_t columns = 0;     ///< step of that loop
  bool isUnpacked = false; ///< there are too few rows to pack panels for them
};

/// Loops over the tiles of a body. `emitter` provides arithmetic and the values of views and
/// scalars.
class TileLoops {
public:
  using Callback = llvm::function_ref<mlir::LogicalResult()>;

  explicit TileLoops(BodyEmitter &emitter) : e(emitter) {}
  /// Begins a body; its scalars must have been emitted.
  void enter(const CpuPlan &plan, mlir::Block &body);

  /// Runs the large register tile, then the small tile for the last rows, then the tile of a single
  /// row.
  mlir::LogicalResult overRows(bool hasProducts, Callback body);
  /// Runs the register tiles of a body with products, without the tile of a single row.
  mlir::LogicalResult overSeveralRows(Callback body);
  /// Whether the body is being emitted for a single row.
  bool isOneRow() const { return plan.oneRow && at.rows == 1; }
  /// Loops over the columns of a tile, carrying `sums`; `alone`: the body has no product. `step` is
  /// the number of columns of a step, or 0 for the best number for the body's registers.
  mlir::LogicalResult overColumns(int64_t columns, ColumnRange range, bool alone, Registers &sums,
                                  Callback body, int64_t step = 0);
  /// Number of rows of the tiles that run.
  mlir::Value rows() const { return rowCount; }
  /// Emits the condition that the large register tile reads packed panels.
  mlir::Value readsPacked();

  /// Columns of the view from the op's first one to the end; null if they cover the tile.
  mlir::Value columnsLeft(mlir::Operation &op, int64_t columns);
  /// Whether a tile needs a column loop: it exceeds the fragment or may exceed a view.
  bool isWide(int64_t columns) const {
    return columns > 1 &&
           (columns > plan.fragment.columns || plan.clippedColumns.contains(columns));
  }

  CpuPlan plan; ///< plan of the current body
  TileContext at;

private:
  /// Split of a tile's rows for products: the large register tile runs [0, large), the small tile
  /// [large, several), and the tile of a single row any row after `several`.
  struct RowSplit {
    mlir::Value large, several;
  };
  mlir::Value rowsOfPacked(mlir::Value large);
  RowSplit splitRows();
  mlir::Value rowsOfLargeTile(mlir::Value count, int64_t large, int64_t small);
  /// Turns of large register tiles that cover `rows` rows in total.
  Turns turnsOf(mlir::Value rows, int64_t large);
  mlir::LogicalResult rowsOf(int64_t count, mlir::Value from, mlir::Value to, Turns turns,
                             bool isUnpacked, Callback body);
  int64_t stepColumns(int64_t columns, bool alone) const;

  BodyEmitter &e;
  mlir::Value rowCount;
};

} // namespace heddle::kernel
