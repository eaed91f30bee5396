//===- GroupBytes.cpp - Products with byte codes in groups ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of byte rows p and signed byte codes q (GroupProduct.h). A word holds four features.
//
// vpdpbusd has one unsigned operand. Codes are therefore stored as 128 + q. With few rows, 128 + q
// is this operand, and the sum of a group less 128 * sum of p is u. With many rows, 128 + p is this
// operand, and 128 * sum of q is subtracted; one such sum serves all rows. Both sums are products
// with a constant byte.

#include "GroupProduct.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

namespace {
struct GroupBytes : GroupProduct {
  using GroupProduct::GroupProduct;
  static bool accepts(ProductOpInterface op, const CpuTarget &) {
    const NumberFormat &format = op.getFormat();
    return format.sumsGroups() && formatOf(format.weights).perWord == formatOf(DType::I8).perWord;
  }
  static Keeps keeps(const CpuTarget &) { return Keeps::GroupSums; }

private:
  /// Rows from which on a sum of q costs less than the sums of p of all rows.
  static constexpr int64_t manyRows = 4;

  Registers sumsOfGroup(const Sides &sides, Value group, int64_t words) override {
    const int64_t rows = sides.shape.rows, vectors = sides.shape.vectors;
    const bool sumsCodes = rows >= manyRows * vectors;
    const auto type = VectorType::get({width}, builder.getI32Type());
    const Value zero = e.wordConstant(0, type),
                base = e.wordConstant(static_cast<int32_t>(0x80808080), type);
    auto flipped = [&](Value bytes) -> Value { // between x and 128 + x
      return sumsCodes ? arith::XOrIOp::create(builder, loc, bytes, base) : bytes;
    };
    Registers extra(sumsCodes ? vectors : rows, zero), parts(rows * vectors, zero);
    for (int64_t word = 0; word < words; ++word) {
      Registers q;
      for (int64_t j = 0; j < vectors; ++j) {
        q.push_back(flipped(lineAt(sides.columns[j], group, word)));
        if (sumsCodes)
          extra[j] = e.dot4(base, q.back(), extra[j]);
      }
      for (int64_t row = 0; row < rows; ++row) {
        Value p = flipped(rowWord(sides.rows[row], group, word));
        if (!sumsCodes)
          extra[row] = e.dot4(base, p, extra[row]);
        for (int64_t j = 0; j < vectors; ++j) {
          Value &part = parts[row * vectors + j];
          part = sumsCodes ? e.dot4(p, q[j], part) : e.dot4(q[j], p, part);
        }
      }
    }
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = 0; j < vectors; ++j) {
        Value &part = parts[row * vectors + j];
        part = arith::SubIOp::create(builder, loc, part, extra[sumsCodes ? j : row]);
      }
    return parts;
  }
};
} // namespace

const ProductStrategy heddle::kernel::groupBytes = strategyOf<GroupBytes>();
