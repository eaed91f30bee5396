//===- LinearColumns.h - Columns of a linear layer's kernel ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Column loops of a linear layer's kernel. The kernel computes one or more values,
// its parts, by loops over their columns. The planner chooses the tile of each
// loop; tiling emits the loops. Both use the list that this header describes.
//
// A part with rotated heads has a loop over the first half of the rotated features
// and a loop over the features that are not rotated. Any other part has one loop,
// or two if its tile does not divide its columns.
#pragma once

#include "heddle/Planning/DefinitionViews.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

namespace heddle {

/// One value of the definition, computed from a linear.
struct LinearPart {
  mlir::Value yielded; ///< the value before rounding
  transformer::LinearOp linear;
  llvm::SmallVector<unsigned> results; ///< indices of the results that store the value
  bool heads = false;                  ///< the value is split into heads
  /// Whether tiles of columns may cross the ends of heads; the padding of heads is then not
  /// computed. Otherwise each tile is inside one head.
  bool overHeads = false;
  transformer::RotaryOp rotary; ///< the op that rotates the heads, or null
};

/// Columns of a part that one loop computes in tiles: all columns, or a range of each head.
struct ColumnLoop {
  const LinearPart *part;
  int64_t tile, columns; ///< columns of all heads
  int64_t inHead = 0;    ///< columns of each head; 0: the loop does not distinguish heads
  int64_t first = 0;     ///< first column, of each head or of all
  bool rotates = false;  ///< columns are rotated with the `inHead` columns that follow
};

/// The parts of a definition. Reports an error at the definition if a result does not depend on a
/// linear.
mlir::FailureOr<llvm::SmallVector<LinearPart>> linearParts(const DefinitionViews &views);

/// Columns of the weight as stored, a multiple of 16.
int64_t storedColumns(const DefinitionViews &views, transformer::LinearOp linear);
/// Columns of a head as stored.
int64_t headColumns(const DefinitionViews &views, const LinearPart &part);
/// Columns that tiles divide: the columns of a head if each tile is inside one, else all columns.
int64_t unitOf(const DefinitionViews &views, const LinearPart &part);

/// The loops of all parts, in order, with these tiles. Reports an error at the definition if the
/// numbers of tiles and loops differ.
mlir::FailureOr<llvm::SmallVector<ColumnLoop>> columnLoops(const DefinitionViews &views,
                                                           llvm::ArrayRef<LinearPart> parts,
                                                           llvm::ArrayRef<int64_t> tiles);

/// Whether each half of a head's rotated features consists of whole tiles, so that two tiles are
/// rotated with each other.
bool rotatesTiles(transformer::RotaryOp op);

/// The views of shape [B, 1, N] that a kernel reads, if all results are heads and each sequence has
/// one row; else empty. The kernel then treats the sequences as rows.
llvm::SmallVector<unsigned> rowsOfSequences(const DefinitionViews &views);
/// Number of rows that a linear's kernel computes in tiles.
kernel::Size rowsOfLinear(const DefinitionViews &views);

} // namespace heddle
