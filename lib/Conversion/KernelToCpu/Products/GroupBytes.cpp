//===- GroupBytes.cpp - Products with byte codes in groups ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of byte rows p and signed byte codes q (GroupProduct.h). A word holds four features.
//
// vpdpbusd has one unsigned operand. Codes are therefore stored as 128 + q, and the sum of a group
// starts at -128 * sum of p. This start is a product with the byte -128 and serves all columns.

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
  Registers sumsOfGroup(const Sides &sides, Value group, int64_t words) override {
    const int64_t rows = sides.shape.rows, vectors = sides.shape.vectors;
    const auto type = VectorType::get({width}, builder.getI32Type());
    const Value zero = e.wordConstant(0, type),
                base = e.wordConstant(static_cast<int32_t>(0x80808080), type);
    Registers starts(rows, zero), parts(rows * vectors, zero);
    for (int64_t word = 0; word < words; ++word) {
      Registers q;
      for (int64_t j = 0; j < vectors; ++j)
        q.push_back(lineAt(sides.columns[j], group, word));
      for (int64_t row = 0; row < rows; ++row) {
        Value p = rowWord(sides.rows[row], group, word);
        starts[row] = e.dot4(base, p, starts[row]);
        for (int64_t j = 0; j < vectors; ++j) {
          Value &part = parts[row * vectors + j];
          part = e.dot4(q[j], p, part);
        }
      }
    }
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = 0; j < vectors; ++j) {
        Value &part = parts[row * vectors + j];
        part = arith::SubIOp::create(builder, loc, part, starts[row]);
      }
    return parts;
  }
};
} // namespace

const ProductStrategy heddle::kernel::groupBytes = strategyOf<GroupBytes>();
