//===- Bf16Dot2.h - Products of bf16 pairs ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bf16 pairs. The loop over k counts words of two elements: two features of a panel, or
// two rows of a view. A step is one instruction if the target has it, else two f32 products.
//
// Values of attention in bf16 are stored row by row. Two rows are interleaved when they are loaded,
// or once for all row fragments (packed). Keys and values of another type are rounded when they are
// loaded, or once (packed).
//
//   low  a0 a1 ...     word j: low half a[j], high half b[j]
//   high b0 b1 ...
#pragma once

#include "../CpuProduct.h"

#include "heddle/Support/Formats.h"

namespace heddle::kernel {

struct Bf16Dot2 : CpuProduct {
  using CpuProduct::CpuProduct;
  static bool accepts(ProductOpInterface op, const CpuTarget &) {
    return op.getFormat().weights == DType::BF16;
  }
  static Keeps keeps(const CpuTarget &target) {
    return target.bf16Dot2 ? Keeps::Sums : Keeps::Parts;
  }

  /// One instruction if the target has it. Guarded products are checked one by one, odd elements
  /// first.
  mlir::Value step(mlir::Value a, mlir::Value b, mlir::Value c, bool guarded) override;
  /// Sums pairs of rows, starting at an even row of the range; a single last row is paired with
  /// zero.
  RowPart sumRows(const Fragment &shape, const TileMemory &left) override;

  /// Largest packed B, in words.
  static constexpr int64_t mostWords = 32 << 10;
  /// Pairs of rows in words. Products over features do not pack B, whose panels already hold words.
  std::optional<TileMemory> packedForm() override;
  /// Packs from an even row; a single last row is paired with zero.
  void packRows(const TileMemory &packed, mlir::Value begin, mlir::Value end) override;

protected:
  /// Row `row` of the range in the low halves of words; the high halves are zero.
  virtual mlir::Value rowAsWords(Address place, mlir::Value row);
  /// Row `row` of the range in the low halves of words, and the next row in the high halves.
  virtual mlir::Value pairOfRows(Address place, int64_t step, mlir::Value row);
};

/// Keys and values of another type than bf16. Over features, k counts pairs. Rows of B may also be
/// bf16, for products that derive from this one.
struct KeptAsBf16 : Bf16Dot2 {
  using Bf16Dot2::Bf16Dot2;
  static bool accepts(ProductOpInterface op, const CpuTarget &target) {
    return Bf16Dot2::accepts(op, target) && op.convertsRight();
  }

  int64_t perStep() override { return 2; }
  Operand loadB(const Fragment &shape) override;
  std::optional<TileMemory> packedForm() override;
  /// Packs pairs [from, to).
  void packPanels(const TileMemory &packed, ColumnRange columns, mlir::Value from,
                  mlir::Value to) override;

protected:
  mlir::Value rowAsWords(Address place, mlir::Value row) override;
  mlir::Value pairOfRows(Address place, int64_t step, mlir::Value row) override;

private:
  mlir::Value rowAt(Address place, mlir::Value row);
  Registers pairsAt(Address place, mlir::Value scale);
  mlir::Type type() { return right().type.getElementType(); }
};

} // namespace heddle::kernel
