//===- GroupProduct.h - Products of codes in groups -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of byte rows p with codes q whose groups of features have scales, in the layout of
// Support/Formats.h. A group of a column has a scale d and a minimum m; a group of a row has e and
// s. For each group:
//
//   u    sum of p * q, an exact integer
//   sum  fma(f32(u), e * d, sum), then fma(s, m, sum)
#pragma once

#include "../CpuProduct.h"

#include "heddle/Support/Formats.h"

namespace heddle::kernel {

/// Common part of these products. A derived class computes u.
struct GroupProduct : CpuProduct {
  GroupProduct(CpuEmitter &emitter, ProductOpInterface op);

  int64_t unrolled() override { return groupLines(); }
  /// Panels of codes are small and read in order; `fetchAhead` prefetches them.
  bool fetchesNextPanels() const override { return false; }
  Registers sumFeatures(Chain chain, Registers sums, mlir::Value first, mlir::Value last) override;

protected:
  static constexpr int64_t lineWords = 16;

  /// Addresses of the rows of the left view and of its scales, and of the columns of the panels.
  struct Sides {
    const Fragment &shape;
    llvm::SmallVector<Address> rows, scales, columns;
  };
  /// Factors that a group shares: e and s of a row, or d and m of columns.
  struct Scales {
    mlir::Value scale, offset;
  };

  /// Sums p * q of a register tile over one group with `words` words of four features per row.
  virtual Registers sumsOfGroup(const Sides &sides, mlir::Value group, int64_t words) = 0;
  /// Partial sums as one i32 for each word.
  virtual mlir::Value asWords(mlir::Value part) { return part; }

  /// Lines of codes of a group; words of a group in a panel, with its line of scales.
  int64_t groupLines() const { return format.group / format.perWord; }
  int64_t blockWords() const { return format.blockLines * lineWords; }
  const BoundView &scales() { return e.view(mlir::cast<ContractGroupsOp>(*op).getScales()); }
  llvm::SmallVector<Address> columnPlaces(const Fragment &shape);
  /// Adds a group to `sum`; `part` is the sum of its products.
  mlir::Value addPart(mlir::Value part, const Scales &row, const Scales &columns, mlir::Value sum);
  /// Prefetches a later group, because hardware prefetchers stop at page boundaries. The groups of
  /// the next columns follow the groups of these columns in memory.
  void fetchAhead(llvm::ArrayRef<Address> columns, mlir::Value group);
  /// Words of codes of one vector of columns.
  mlir::Value lineAt(Address column, mlir::Value group, int64_t line);
  /// Four features of a row in each lane.
  mlir::Value rowWord(Address row, mlir::Value group, int64_t word);
  llvm::SmallVector<Scales> columnScales(llvm::ArrayRef<Address> columns, mlir::Value group);
  Scales rowScales(Address row, mlir::Value group);

  const ElementFormat &format; ///< of the codes

private:
  void addGroup(const Sides &sides, mlir::Value group, int64_t words, Registers &sums);
  mlir::Value halvesAt(Address column, mlir::Value group, int64_t first);
  mlir::Value rowScale(Address row, mlir::Value group, int64_t number);
};

} // namespace heddle::kernel
