//===- GpuMatrixStaging.h - Operands of matrix units ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of k of both sides of a product, as matrix units load it from workgroup
// memory: rows of words, each of some features of one row of the left side or of one
// column of the right,
//
//   left    [row][word]      in the order of GpuMatrices.h
//   right   [column][word]
//
// A panel has the words of a column sixteen words apart, so that staging it turns
// words around and never looks into one. Rows of words are a quad further apart than
// they are long, so that the rows of a matrix begin in different banks.
//
// Codes of i4 become bytes as they are staged: a word of a panel has eight features,
// and is two words of the block. Their scales are GpuMatrixGroups.h's.
//
// Rows of f32 become f16: each is multiplied by a power of two that brings its largest
// number to between 1 and 2, as f16-sum does it (TileQuantize.cpp), and rounded as it is
// staged. Sums are multiplied by the inverse.
#pragma once

#include "GpuKernel.h"

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle {

class GpuEmitter;

/// Rows of a panel, which are columns of a product.
inline constexpr int64_t kPanel = 16;

/// Numbers 0 … `all` - 1, of which each invocation takes those that `take` gets; those that are beyond
/// the last take it too.
void shareOut(GpuEmitter &e, int64_t all, llvm::function_ref<void(mlir::Value number)> take);

/// The array that both sides, and later the sums, lie in. Its entries are quads of words, or halves of
/// them where a row of a matrix is no longer.
struct MatrixArray {
  int64_t unit, entries;
  SharedArray use = SharedArray::Matrices;
  int64_t perQuad() const { return 4 / unit; }
};

/// One side's words, a quad at a time: what this invocation copies of each block.
class GpuMatrixStaging {
public:
  /// `rows` rows, or columns, of blocks of `quads` quads.
  struct Block {
    int64_t rows, quads;
    int64_t pitch() const { return quads + 1; } ///< in quads
  };
  /// The end of a row in memory: of `stored` words the first `whole` count, and of the next those bits.
  struct End {
    int64_t stored, whole;
    uint32_t bits;
  };
  GpuMatrixStaging(GpuEmitter &emitter, const kernel::BoundView &view, Block block,
                   MatrixArray array);

  /// `startOf` gives the quad in the view where a row begins, `placeOf` its row of the array.
  void placeRows(llvm::function_ref<mlir::Value(mlir::Value row)> startOf,
                 llvm::function_ref<mlir::Value(mlir::Value row)> placeOf);
  /// The same of the columns of panels; columns lie in the array behind `before` rows.
  void placePanels(llvm::function_ref<mlir::Value(mlir::Value panel)> startOf, int64_t before);

  using Quads = llvm::SmallVectorImpl<mlir::Value>;
  /// Appends this invocation's quads of the block that begins `first` words behind k = 0, in as many
  /// values as `loads`. With an end the block may reach beyond it, where words are zero.
  void fetch(mlir::Value first, const End *end, Quads &loaded);
  /// Writes them. Barriers are the caller's.
  void store(llvm::ArrayRef<mlir::Value> loaded);
  int64_t loads() const { return static_cast<int64_t>(slots.size()) * parts(); }
  /// A quad that this invocation copies is of this row or column of the tile.
  mlir::Value lineOf(int64_t copy) const { return slots[copy].line; }
  /// And it is the block's quad of this number.
  mlir::Value quadOf(int64_t copy) const { return slots[copy].quad; }

  /// Whether rows of f32 are rounded to f16. Then `scaleRows` finds their powers of two, and `scaleOf`
  /// a row's as long as the kernel runs.
  bool isRounded() const;
  /// Whether the view's codes become bytes.
  bool isWidened() const;
  void scaleRows(const End &end);
  mlir::Value scaleOf(mlir::Value row);

private:
  /// A quad of each block: where its row begins in memory, its number there, its place in the array.
  struct Slot {
    mlir::Value start, quad, place;
    mlir::Value line;   ///< row or column of the tile
    mlir::Value lane;   ///< panels: the word of a quad
    mlir::Value factor; ///< of rows that are rounded
  };
  /// Quads of memory in one of the array.
  int64_t parts() const { return isRounded() ? 2 : 1; }
  bool isPanel() const { return view.type.getPanel() != 0; }
  mlir::Value distanceOf(mlir::Value quad);
  mlir::Value load(const Slot &slot, mlir::Value place);
  mlir::Value asBytes(mlir::Value codes);
  mlir::Value rounded(llvm::ArrayRef<mlir::Value> quads, mlir::Value factor);
  mlir::Value largestSeen(const Slot &slot, const End &end);
  mlir::Value entryOfScale(mlir::Value row);
  mlir::Value upTo(const End &end, mlir::Value quad, mlir::Value words);

  GpuEmitter &e;
  const kernel::BoundView view;
  Block block;
  MatrixArray array;
  llvm::SmallVector<Slot> slots;
};

} // namespace heddle
