//===- MaskInterface.h - What every mask op knows --------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface through which kernels, reports and pictures ask a mask for its
// truth over a tile. Coordinates are i32 and below 2^30.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace heddle::transformer {

/// Where a mask's code is emitted: supplies coordinates, reads the operands of mask ops.
class MaskSite {
public:
  virtual ~MaskSite() = default;
  virtual mlir::Location loc() const = 0;

  /// Coordinates of the tile's elements, `tensor<RxCxi32>`.
  virtual mlir::Value rowIndices(mlir::OpBuilder &b) = 0;
  virtual mlir::Value columnIndices(mlir::OpBuilder &b) = 0;
  /// An i32 as a tile, `tensor<RxCxi32>`.
  virtual mlir::Value splat(mlir::OpBuilder &b, mlir::Value scalar) = 0;
  /// Number of keys, i32.
  virtual mlir::Value keyCount(mlir::OpBuilder &b) = 0;
  /// Keys minus queries, i32: the offset of a mask that has none of its own.
  virtual mlir::Value defaultOffset(mlir::OpBuilder &b) = 0;

  /// Value of an i32 operand of a mask op.
  virtual mlir::Value scalar(mlir::OpBuilder &b, mlir::Value operand) = 0;
  /// `table[b]` of a `tensor<?xi32>` operand, i32, for the site's batch element.
  virtual mlir::Value perBatch(mlir::OpBuilder &b, mlir::Value table) = 0;
  /// Elements of a rank 4 operand at the tile's (b, h, i, j), each dimension 1 or full, `tensor<RxCxi1>`.
  virtual mlir::Value dense(mlir::OpBuilder &b, mlir::Value table) = 0;
};

/// Rows [i0, i1) by keys [j0, j1), i32 values.
struct TileCorners {
  mlir::Value i0, i1, j0, j1;
};

/// Bounds of a mask over a tile, i1 values.
struct TileTruth {
  mlir::Value may, must;
};

/// Keys [low, high), i32 values.
struct KeyRange {
  mlir::Value low, high;
};

/// [0, number of keys).
KeyRange wholeKeyRange(mlir::OpBuilder &b, MaskSite &site);

} // namespace heddle::transformer

#include "heddle/Dialect/Transformer/IR/MaskInterface.h.inc"

namespace heddle::transformer {
/// The op that defines a mask value; masks never cross block boundaries.
MaskOpInterface maskOf(mlir::Value mask);
} // namespace heddle::transformer
