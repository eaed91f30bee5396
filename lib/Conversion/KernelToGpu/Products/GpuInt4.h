//===- GpuInt4.h - Products with weights of i4 ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of rows of bytes p with i4 codes q (Support/Formats.h). A vec4 of words holds
// eight features of four columns. Each group of 32 features has a scale d and a minimum m
// for every column, and e and s for every row. For each group:
//
//   u    sum of p * q, by packed dot products if the target has them; an integer below
//        2^24, which f32 holds exactly
//   sum  Fma(u, e * d, sum), then Fma(s, m, sum)
//
// A step of k is a group. Int4.cpp reads rows from memory; Int4Packed.cpp reads crosswise
// blocks of rows.
#pragma once

#include "../GpuProduct.h"

namespace heddle {

/// Common part of products with i4.
struct Int4Product : GpuProduct {
  static constexpr const ElementFormat &format = formatOf(DType::I4);
  /// Features of a word, the unit of i4 addresses; words of a line; words of a group in a panel and
  /// in a row; vec4s of a group in a row.
  static constexpr int64_t wordFeatures = format.perWord, lineWords = 16,
                           blockWords = format.blockLines * lineWords,
                           rowWords = format.group / formatOf(DType::I8).perWord,
                           rowVec4s = rowWords / kVec4;
  static_assert(format.group == format.blockColumns);

  /// `block` is the number of groups in a staged block.
  Int4Product(GpuEmitter &emitter, kernel::ProductOpInterface op, int64_t block, bool fetchesLate);
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &) {
    return op.getFormat().weights == DType::I4;
  }

  /// Finds the words of features 0 to 7 and the scales of their group.
  void placeRight() override;
  void sumProducts(Registers &sums) override { addSteps(e.constant(0), allSteps(), {}, sums); }
  void addSteps(mlir::Value first, int64_t groups, mlir::Value start, Registers &sums) override;

protected:
  using Scales = std::array<mlir::Value, CrosswiseRows::scalesOfStep>;

  /// Adds `count` groups with `words` words of a row each. `first` counts from the start of the
  /// staged block, group `start`.
  virtual void addGroups(mlir::Value first, int64_t count, int64_t words, mlir::Value start,
                         Registers &sums) = 0;
  int64_t features() { return rightView().type.getDims().back().extent.value; }
  /// Adds the integers `u` of a group to a sum.
  mlir::Value scaled(mlir::Value u, Scales column, Scales row, mlir::Value sum);
  /// Codes of four features of register `j`'s columns. A line holds two words of codes, the first
  /// in the low halves of its bytes; `line` caches it.
  mlir::Value codesOf(mlir::Value &line, int64_t j, mlir::Value far, int64_t word);
  /// Both scales of register `j`'s columns.
  Scales columnScales(int64_t j, mlir::Value far);

private:
  mlir::Value halvesAt(int64_t j, mlir::Value far, int64_t first);

  llvm::SmallVector<kernel::Address> scalePlaces; ///< addresses of scales of columns
  Registers isSecondHalf; ///< whether a register's scales are the last words of a vec4
};

} // namespace heddle
