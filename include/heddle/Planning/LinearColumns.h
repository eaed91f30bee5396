//===- LinearColumns.h - Columns of a linear layer's kernel ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linear layer's kernel computes one or more values, its parts, by loops over
// their columns. The planner chooses the tile of each loop; the tiler writes the
// loops. Both take the loops from here.
//
// A part whose heads are rotated has a loop over the first half of the rotated
// features and one over the features that are not rotated. Any other part has one
// loop, or two where its tile does not divide its columns.
#pragma once

#include "heddle/Planning/DefinitionViews.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

namespace heddle {

/// One value of the definition, computed around a linear.
struct LinearPart {
  mlir::Value yielded; ///< before it is rounded
  transformer::LinearOp linear;
  llvm::SmallVector<unsigned> results; ///< numbers of the results that store the value
  bool heads = false;                  ///< the value is split into heads
  /// Whether tiles of columns run over the ends of heads, whose padding is then not computed; else
  /// each tile is inside one head.
  bool overHeads = false;
  transformer::RotaryOp rotary; ///< the op that rotates the heads, or null
};

/// Columns of a part that one loop takes in tiles: all columns, or a range of each head.
struct ColumnLoop {
  const LinearPart *part;
  int64_t tile, columns; ///< columns of all heads
  int64_t inHead = 0;    ///< columns of each head; 0: the loop does not distinguish heads
  int64_t first = 0;     ///< first column, of each head or of all
  bool rotates = false;  ///< with the `inHead` columns that follow
};

/// The parts of a definition around linears. An error, reported at the definition, if some result
/// has no linear.
mlir::FailureOr<llvm::SmallVector<LinearPart>> linearParts(const DefinitionViews &views);

/// Columns of the weight as stored, a multiple of 16.
int64_t storedColumns(const DefinitionViews &views, transformer::LinearOp linear);
/// Columns of a head as stored.
int64_t headColumns(const DefinitionViews &views, const LinearPart &part);
/// Columns that tiles divide: columns of a head where each tile is inside one, else all columns.
int64_t unitOf(const DefinitionViews &views, const LinearPart &part);

/// The loops of all parts, in order, with these tiles. An error, reported at the definition, if the
/// number of tiles is not that of the loops.
mlir::FailureOr<llvm::SmallVector<ColumnLoop>> columnLoops(const DefinitionViews &views,
                                                           llvm::ArrayRef<LinearPart> parts,
                                                           llvm::ArrayRef<int64_t> tiles);

/// Whether the halves of a head's rotated features consist of whole tiles, so that two tiles are rotated
/// with each other.
bool rotatesTiles(transformer::RotaryOp op);

/// The views of all rows [B, 1, N] that a kernel reads, where all results are heads and each sequence
/// has one row; else empty. The kernel then takes the sequences as rows.
llvm::SmallVector<unsigned> rowsOfSequences(const DefinitionViews &views);
/// Number of rows that a linear's kernel takes in tiles.
kernel::Size rowsOfLinear(const DefinitionViews &views);

} // namespace heddle
