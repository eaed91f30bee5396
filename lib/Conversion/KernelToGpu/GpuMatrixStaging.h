//===- GpuMatrixStaging.h - Operands of matrix units ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file stages a block of k of both sides of a product in workgroup memory, from
// which matrix units load it. A word holds several features of one row of the left side, or
// of one column of the right side:
//
//   left    [row][word]      in the order of GpuMatrices.h
//   right   [column][word]
//
// The words of a column are sixteen words apart in a panel, so staging a panel transposes
// whole words. Each row in workgroup memory is padded by a vec4, so that the rows of a
// matrix begin in different banks.
//
// Codes of i4 are widened to bytes: a word of a panel has eight features and becomes two
// words of the block. GpuMatrixGroups.h stages their scales.
//
// Rows of f32 are rounded to f16. Each is first multiplied by a power of two that brings
// its largest number to between 1 and 2, as f16-sum does (TileQuantize.cpp). Sums are
// multiplied by the inverse.
#pragma once

#include "GpuKernel.h"

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle {

class GpuEmitter;

/// Rows of a panel, which are the columns of a product.
inline constexpr int64_t kPanel = 16;

/// Distributes the numbers 0 to `all` - 1 over the invocations, and calls `take` for each number of
/// this invocation. Invocations without a number repeat the last one.
void shareOut(GpuEmitter &e, int64_t all, llvm::function_ref<void(mlir::Value number)> take);

/// Array in workgroup memory that holds both sides, and later the sums. An entry is a vec4, or half
/// a vec4 if a row of a matrix has only two words.
struct MatrixArray {
  int64_t unit, entries; ///< words of an entry, number of entries
  SharedArray use = SharedArray::Matrices;
  int64_t staged = 0; ///< entries of each buffer: a block of both sides
  int64_t perVec4() const { return 4 / unit; }
};

/// Copies this invocation's part of each block of one side to workgroup memory, one vec4 at a time.
class GpuMatrixStaging {
public:
  /// Size of a block: `rows` rows, or columns, of `vec4s` vec4s.
  struct Block {
    int64_t rows, vec4s;
    int64_t pitch() const { return vec4s + 1; } ///< in vec4s
  };
  /// End of a row in memory. It has `stored` words; the first `whole` words and the given bits of
  /// the next word are features.
  struct End {
    int64_t stored, whole;
    uint32_t bits;
  };
  GpuMatrixStaging(GpuEmitter &emitter, const kernel::BoundView &view, Block block,
                   MatrixArray array);

  /// Places rows. `startOf` returns the vec4 of the view at which a row begins, `placeOf` its row
  /// of the array.
  void placeRows(llvm::function_ref<mlir::Value(mlir::Value row)> startOf,
                 llvm::function_ref<mlir::Value(mlir::Value row)> placeOf);
  /// Places the columns of panels, which follow `before` rows of the array. `startOf` returns the
  /// vec4 of the view at which a panel begins.
  void placePanels(llvm::function_ref<mlir::Value(mlir::Value panel)> startOf, int64_t before);

  using Vec4s = llvm::SmallVectorImpl<mlir::Value>;
  /// Loads this invocation's part of the block that begins at word `first` of k. Appends `loads`
  /// values. With an `end`, the block may extend beyond it, where words are zero.
  void fetch(mlir::Value first, const End *end, Vec4s &loaded);
  /// Writes the loaded values to the array. The caller emits the barriers.
  void store(llvm::ArrayRef<mlir::Value> loaded);
  int64_t loads() const { return static_cast<int64_t>(slots.size()) * parts(); }

  /// Whether rows of f32 are rounded to f16. If so, `scaleRows` computes their powers of two, which
  /// `takeFactors` takes for this invocation's rows. `scaleOf` returns the power of a row anywhere after
  /// `scaleRows`.
  bool isRounded() const;
  /// Whether codes of i4 are widened to bytes.
  bool isWidened() const;
  void scaleRows(const End &end);
  void takeFactors();
  mlir::Value scaleOf(mlir::Value row);

private:
  /// A vec4 that this invocation copies in each block: the start of its row in memory, its number
  /// in the row, and its place in the array.
  struct Slot {
    mlir::Value start, vec4, place;
    mlir::Value line;   ///< row or column of the tile
    mlir::Value lane;   ///< panels: word in a vec4 of memory
    mlir::Value factor; ///< rounded rows: power of two
  };
  /// Vec4s of memory that become one vec4 of the array.
  int64_t parts() const { return isRounded() ? 2 : 1; }
  bool isPanel() const { return view.type.getPanel() != 0; }
  mlir::Value distanceOf(mlir::Value vec4);
  mlir::Value load(const Slot &slot, mlir::Value place);
  mlir::Value asBytes(mlir::Value codes);
  mlir::Value rounded(llvm::ArrayRef<mlir::Value> vec4s, mlir::Value factor);
  mlir::Value largestSeen(const Slot &slot, const End &end);
  mlir::Value largestOfRow(mlir::Value row);
  mlir::Value entryOfScale(mlir::Value row);
  mlir::Value upTo(const End &end, mlir::Value vec4, mlir::Value words);

  GpuEmitter &e;
  const kernel::BoundView view;
  Block block;
  MatrixArray array;
  llvm::SmallVector<Slot> slots;
};

} // namespace heddle
