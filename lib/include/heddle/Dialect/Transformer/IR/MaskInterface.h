//===- MaskInterface.h - Interfaces of masks and rules ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interfaces of masks, which give the truth over a tile, and of score rules,
// which give numbers, for kernels, reports and pictures. Coordinates are i32,
// at least 0 and below 2^30. The emitted code is arith (with scf.for on
// scalars, and math in score rules) on i32, i1 and f32, and never traps.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <utility>

namespace heddle::transformer {

/// Rows [i0, i1) by keys [j0, j1), as i32 values. Neither range is empty.
struct TileCorners {
  mlir::Value i0, i1, j0, j1;
};

/// Bounds of a mask over a tile, as i1 values: whether it may hold and whether it must hold.
struct TileTruth {
  mlir::Value may, must;
};

/// Band of keys of row i: j in [low, high), and relativeLow <= j - i <= relativeHigh. Bounds are
/// i32 values in [-2^30, 2^30), or null if unbounded. Sums of a bound and a coordinate do not wrap.
struct KeyBand {
  mlir::Value low, high, relativeLow, relativeHigh;

  bool isEverything() const { return !low && !high && !relativeLow && !relativeHigh; }
};

/// Context in which a mask's code is emitted: provides coordinates and reads operands of masks and
/// score rules.
class MaskSite {
public:
  virtual ~MaskSite() = default;
  virtual mlir::Location loc() const = 0;

  /// Calls the mask's MaskOpInterface. A mask with several users is emitted once, because it may
  /// occur on exponentially many paths. Results are dropped after each outer call, since the code
  /// of two calls may be in different blocks.
  mlir::Value predicateOf(mlir::OpBuilder &b, mlir::Value mask);
  TileTruth boundOf(mlir::OpBuilder &b, mlir::Value mask, const TileCorners &tile);
  std::optional<KeyBand> keyRangeOf(mlir::OpBuilder &b, mlir::Value mask);

  /// Coordinates of the tile's elements, `tensor<RxCxi32>`.
  virtual mlir::Value rowIndices(mlir::OpBuilder &b) = 0;
  virtual mlir::Value columnIndices(mlir::OpBuilder &b) = 0;
  /// Broadcasts a scalar (i1, i32 or f32) to a tile, `tensor<RxC...>`.
  virtual mlir::Value splat(mlir::OpBuilder &b, mlir::Value scalar) = 0;
  /// Numbers of keys and queries, i32.
  virtual mlir::Value keyCount(mlir::OpBuilder &b) = 0;
  virtual mlir::Value queryCount(mlir::OpBuilder &b) = 0;
  /// The sequence (under packed documents, the document) and the query head, i32.
  virtual mlir::Value batch(mlir::OpBuilder &b) = 0;
  virtual mlir::Value head(mlir::OpBuilder &b) = 0;
  /// Number of query heads.
  virtual int64_t headCount() const = 0;
  /// Number of keys minus number of queries, i32: the offset of a mask without an offset operand.
  virtual mlir::Value defaultOffset(mlir::OpBuilder &b) = 0;

  /// Value of an i32 operand of a mask op.
  virtual mlir::Value scalar(mlir::OpBuilder &b, mlir::Value operand) = 0;
  /// `table[b]` of a `tensor<?xi32>` operand, i32, for the site's batch element.
  virtual mlir::Value perBatch(mlir::OpBuilder &b, mlir::Value table) = 0;
  /// Elements of a rank 4 operand at the tile's (b, h, i, j), each dimension 1 or full:
  /// `tensor<RxCxi1>`, or f32 of an f32 table.
  virtual mlir::Value dense(mlir::OpBuilder &b, mlir::Value table) = 0;

  /// `table[x]` (rank 1) or `table[b, x]` (rank 2) for each x of an i32 tile, in the table's
  /// element type (i32 or f32); 0 where x is outside.
  virtual mlir::Value lookup(mlir::OpBuilder &b, mlir::Value table, mlir::Value indexTile) = 0;
  /// `lookup` at the row index i of each element, plus an optional scalar, and at the column index
  /// j.
  virtual mlir::Value lookupRow(mlir::OpBuilder &b, mlir::Value table, mlir::Value offset = {}) = 0;
  virtual mlir::Value lookupColumn(mlir::OpBuilder &b, mlir::Value table) = 0;
  /// `lookup` at a scalar x, as a scalar.
  virtual mlir::Value lookupScalar(mlir::OpBuilder &b, mlir::Value table, mlir::Value x) = 0;
  /// Smallest and largest of `table[(b,) x]` for x in [from, to), with from < to. An x outside the
  /// table counts as 0. For i32 tables.
  virtual std::pair<mlir::Value, mlir::Value> tableRange(mlir::OpBuilder &b, mlir::Value table,
                                                         mlir::Value from, mlir::Value to) = 0;
  /// `table[x, h]` of a rank 2 f32 table for a scalar i32 x inside it, as a scalar.
  virtual mlir::Value perHead(mlir::OpBuilder &b, mlir::Value table, mlir::Value x) = 0;
  /// `table[b, h, i, x]` of a rank 4 f32 table of the attention's queries, for each x of an i32
  /// tile and the row i of its element. If `keys`, `table[b, h, j, x]` for a table of the keys.
  virtual mlir::Value ofRow(mlir::OpBuilder &b, mlir::Value table, bool keys,
                            mlir::Value indexTile) = 0;
  /// `table[b|0, h|0, y, x]` of a rank 4 i1 table, as a scalar i1 for scalars y and x, as a tile
  /// for tiles. Entries outside are false.
  virtual mlir::Value block(mlir::OpBuilder &b, mlir::Value table, mlir::Value y,
                            mlir::Value x) = 0;

private:
  template <typename T>
  T once(llvm::DenseMap<mlir::Value, T> &known, mlir::Value mask, llvm::function_ref<T()> ask);

  llvm::DenseMap<mlir::Value, mlir::Value> predicates;
  llvm::DenseMap<mlir::Value, TileTruth> bounds;
  llvm::DenseMap<mlir::Value, std::optional<KeyBand>> bands;
  int depth = 0; ///< of nested calls
};

/// The intersection of two bands, component by component.
KeyBand intersect(mlir::OpBuilder &b, mlir::Location loc, const KeyBand &x, const KeyBand &y);

/// Whether each element of the site's tile is in the band, `tensor<RxCxi1>`.
mlir::Value emitBand(mlir::OpBuilder &b, MaskSite &site, const KeyBand &band);

/// Whether some pair of the tile, and whether every pair, is in the band. Exact.
TileTruth boundOf(mlir::OpBuilder &b, mlir::Location loc, const KeyBand &band,
                  const TileCorners &tile);

} // namespace heddle::transformer

#include "heddle/Dialect/Transformer/IR/MaskInterface.h.inc"

namespace heddle::transformer {
/// The op that defines a mask or score rule, which is always in the same block.
MaskOpInterface maskOf(mlir::Value mask);
BiasOpInterface biasOf(mlir::Value bias);

/// The constant truth of a mask, if its ops alone determine it.
std::optional<bool> constantTruth(mlir::Value mask);

/// The conjuncts of a mask in order, each listed once.
llvm::SmallVector<MaskOpInterface> conjunctsOf(mlir::Value mask);

/// A band that contains every pair allowed by `mask`: the intersection of the bands of its
/// conjuncts.
KeyBand bandOf(mlir::Value mask, mlir::OpBuilder &b, MaskSite &site);

/// Whether the mask equals its band.
bool isBand(mlir::Value mask, mlir::OpBuilder &b, MaskSite &site);

/// Bounds of `mask` over a tile: an exact test of its band, combined with bounds of the other
/// conjuncts.
TileTruth boundOf(mlir::Value mask, mlir::OpBuilder &b, MaskSite &site, const TileCorners &tile);
} // namespace heddle::transformer
