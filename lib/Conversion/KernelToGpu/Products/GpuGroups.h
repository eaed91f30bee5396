//===- GpuGroups.h - Products with codes in groups --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of rows of bytes p with codes q in groups (Support/Formats.h): i4, si8 and si6. A vec4
// of words holds eight features (i4) or four of four columns. Each group of features has a scale d
// and a minimum m for every column, and e and s for every row. For each group:
//
//   u    sum of p * q, by packed dot products if the target has them; an integer below
//        2^24, which f32 holds exactly
//   sum  Fma(u, e * d, sum), then Fma(s, m, sum)
//
// A step of k is a group. Groups.cpp reads rows from memory; Int4Packed.cpp reads crosswise
// blocks of rows.
#pragma once

#include "../GpuProduct.h"

namespace heddle {

/// Common part of products with codes in groups.
struct GroupProduct : GpuProduct {
  static constexpr int64_t lineWords = 16;

  /// `block` is the number of groups in a staged block.
  GroupProduct(GpuEmitter &emitter, kernel::ProductOpInterface op, int64_t block, bool fetchesLate);

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
  /// Whether a word holds codes of four bits.
  bool isInt4() const { return format.type == DType::I4; }
  /// Features of a word, the unit of addresses; words of a group in a panel and in a row.
  int64_t wordFeatures() const { return format.perWord; }
  int64_t blockWords() const { return format.blockLines * lineWords; }
  int64_t rowWords() const { return format.group / formatOf(DType::I8).perWord; }
  int64_t features() { return rightView().type.getDims().back().extent.value; }
  /// Adds the integers `u` of a group to a sum.
  mlir::Value scaled(mlir::Value u, Scales column, Scales row, mlir::Value sum);
  /// Codes of four features of register `j`'s columns, as bytes. A line of i4 holds two words of
  /// codes, the first in the low halves of its bytes; `line` caches it.
  mlir::Value codesOf(mlir::Value &line, int64_t j, mlir::Value far, int64_t word);
  /// Both scales of register `j`'s columns.
  Scales columnScales(int64_t j, mlir::Value far);

  const ElementFormat &format; ///< of the codes

private:
  mlir::Value halvesAt(int64_t j, mlir::Value far, int64_t first);

  llvm::SmallVector<kernel::Address> scalePlaces; ///< addresses of scales of columns
  Registers isSecondHalf; ///< whether a register's scales are the last words of a vec4
};

} // namespace heddle
