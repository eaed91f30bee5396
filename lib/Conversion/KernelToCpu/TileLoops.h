//===- TileLoops.h - Loops over a tile's rows and columns -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the register tiles of a tile, and the position of the one that is
// being emitted. The ops of a body decide where the loops end; callbacks emit
// what they compute.
#pragma once

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"
#include "heddle/Target/CpuTarget.h"

#include "llvm/ADT/SmallSet.h"

namespace heddle::kernel {

/// Register tile of a body, and the tile widths that need clipping; chosen in CpuPlan.cpp.
struct CpuPlan {
  int64_t tileRows = 1;        ///< rows of the body's tiles
  CpuFragment fragment{1, 16}; ///< rows and columns of the register tile
  int64_t fewRows = 0;         ///< rows of the register tile for the last rows; 0: none
  int64_t fewColumns = 0;      ///< and its columns
  bool oneRow = false;         ///< a lone row has a register tile of its own
  int64_t packsFrom = 0; ///< rows of a tile from which the large register tile reads packed panels
  int64_t visitTile = 1 << 20; ///< columns of the narrowest tile that a mask decides on
  llvm::SmallSet<int64_t, 4> clippedColumns; ///< tile widths that may reach past a view's columns

  /// Whether a tile has at most one large register tile, so that little is read more than once.
  bool hasOneLarge() const { return tileRows < 2 * fragment.rows; }
};

/// Largest value of an index, if the grid, loop bounds and constants decide it.
std::optional<int64_t> largestIndex(mlir::Value index);
mlir::FailureOr<CpuPlan> planBody(mlir::Block &body, const CpuTarget &target);

/// Columns [from, to) of a tile; a null bound is the tile's.
struct ColumnRange {
  mlir::Value from, to;
};

using Registers = llvm::SmallVector<mlir::Value>;

/// Turns in which the large register tiles of a tile share a work, such as the prefetch of what comes
/// next. The fewer each has to fetch, the fewer lines are under way beside those that it loads itself.
struct Turns {
  mlir::Value
      areFew;       ///< i1: fewer than four large register tiles run, each of which takes two turns
  mlir::Value bits; ///< log2 of the turns: 2, or more where so many tiles run, at most 4
};

/// Position of the register tile that is being emitted: in a loop over rows, and for wide tiles in
/// one over columns. Null is the first row or column.
struct TileContext {
  int64_t rows = 1;
  mlir::Value row;
  Turns turns;
  mlir::Value column;      ///< null: in no loop over columns
  int64_t columns = 0;     ///< columns of a step of that loop
  bool isUnpacked = false; ///< the rows are too few to pack panels for them
};

/// Loops over the tiles of a body. `emitter` serves for arithmetic and for the values of views and
/// scalars.
class TileLoops {
public:
  using Callback = llvm::function_ref<mlir::LogicalResult()>;

  explicit TileLoops(BodyEmitter &emitter) : e(emitter) {}
  /// Begins a body whose scalars are emitted.
  void enter(const CpuPlan &plan, mlir::Block &body);

  /// Runs the large register tile, then the small one for the last rows, then that of a lone row.
  mlir::LogicalResult overRows(bool hasProducts, Callback body);
  /// The same of a body with products, but for a lone row.
  mlir::LogicalResult overSeveralRows(Callback body);
  /// Whether the body is emitted for a lone row.
  bool isOneRow() const { return plan.oneRow && at.rows == 1; }
  /// Loops over the columns of a tile, carrying `sums`; `alone`: the body holds no product.
  mlir::LogicalResult overColumns(int64_t columns, ColumnRange range, bool alone, Registers &sums,
                                  Callback body);
  /// Rows of the body's tiles that are run.
  mlir::Value rows() const { return rowCount; }
  /// Whether packed panels are read, by the large register tile.
  mlir::Value readsPacked();

  /// Columns that the view still has from the op's first one on; null if they cover the tile.
  mlir::Value columnsLeft(mlir::Operation &op, int64_t columns);
  /// Whether a tile needs a column loop: it exceeds the fragment, or may reach past a view.
  bool isWide(int64_t columns) const {
    return columns > 1 &&
           (columns > plan.fragment.columns || plan.clippedColumns.contains(columns));
  }

  CpuPlan plan; ///< of the body that is being emitted
  TileContext at;

private:
  /// Split of a tile's rows for products: [0, large) in the large register tile, [large, several)
  /// in the small one, a lone row behind `several` in one of its own.
  struct RowSplit {
    mlir::Value large, several;
  };
  mlir::Value rowsOfPacked(mlir::Value large);
  RowSplit splitRows();
  mlir::Value rowsOfLargeTile(mlir::Value count, int64_t large, int64_t small);
  /// The turns of the large register tiles of so many rows in all.
  Turns turnsOf(mlir::Value rows, int64_t large);
  mlir::LogicalResult rowsOf(int64_t count, mlir::Value from, mlir::Value to, Turns turns,
                             bool isUnpacked, Callback body);
  int64_t stepColumns(int64_t columns, bool alone) const;

  BodyEmitter &e;
  mlir::Value rowCount;
};

} // namespace heddle::kernel
