//===- Int4.cpp - Products with weights of i4 ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of bytes, 128 + p, times codes q as Support/Formats.h stores them: a line of
// words is eight features of 16 columns, 32 features of a column share a scale d and a
// minimum m, those of a row e and s. Group by group:
//
//   u    sum of p * q, an exact integer: that of (128 + p) * q less 128 * sum of q
//   sum  fma(f32(u), e * d, sum), then fma(s, m, sum)
//
// The part of the 128 is the same for all rows of a register tile. Products of bytes with
// codes are small: where there is no vpdpbusd, vpmaddubsw adds them in 16 bits, without
// saturation. Those sums may wrap on the way, but their difference, half of u, fits.

#include "../CpuProduct.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

static constexpr const ElementFormat &format = formatOf(DType::I4);
/// Words of a line; features of a word; words of a group in a row, and in a column.
static constexpr int64_t lineWords = 16, wordFeatures = format.perWord,
                         groupBytes = format.group / formatOf(DType::I8).perWord,
                         groupLines = format.group / wordFeatures;
/// Words of a group in a panel: lines of codes, one of scales and minimums.
static constexpr int64_t blockWords = format.blockLines * lineWords;
static_assert(format.group == format.blockColumns);

namespace {
struct Int4 : CpuProduct {
  using CpuProduct::CpuProduct;
  static bool accepts(const NumberFormat &format, const CpuTarget &) {
    return format.weights == DType::I4;
  }
  /// Registers hold the integer sums of a group beside the sums of all groups.
  static bool takesApart(const CpuTarget &) { return true; }

  int64_t unrolled() override { return groupLines; }
  /// Panels of i4 are small, and read in order.
  bool fetchesNextPanels() const override { return false; }

  Registers sumFeatures(Chain chain, Registers sums, Value first, Value last) override {
    assert((!e.isBlocked(*op) || e.kernel.getScheduleOrDefault().getKblock() % format.group == 0) &&
           "k-blocks are whole sums of the format");
    fetchMeanwhile(chain, first, last);
    std::optional<int64_t> count = e.constantOf(e.sub(chain.to, chain.from));
    assert(count && "rows of products have a static number of features, and so have k-blocks");
    const Sides sides{chain.shape, leftRows(chain.shape),
                      rowsOf(e.view(op.getScales()), chain.shape), columnPlaces(chain.shape)};
    const int64_t whole = *count / format.group, rest = *count % format.group;
    Value start = builder.createOrFold<arith::DivUIOp>(loc, first ? first : e.constant(0),
                                                       e.constant(groupLines));
    if (whole)
      e.loopOver(start, e.add(start, e.constant(whole)), 1, sums, [&](Value group) {
        chain.atStep(e.mul(group, groupLines));
        addGroup(sides, group, groupBytes, sums);
      });
    if (rest)
      addGroup(sides, e.add(start, e.constant(whole)), (rest + 3) / 4, sums);
    return sums;
  }

private:
  /// Where the rows of the left view, and of its scales, and the columns of the panels begin.
  struct Sides {
    const Fragment &shape;
    SmallVector<Address> rows, scales, columns;
  };

  SmallVector<Address> columnPlaces(const Fragment &shape) {
    int64_t columns = CpuEmitter::columnsOf(op.getType()),
            panel = panelBytes(DType::I4, features()) / 4;
    Value first = e.add(e.scalar(op.getRhsIndex()), e.columnBase(columns));
    Value number =
        first ? builder.createOrFold<arith::DivUIOp>(loc, first, e.constant(16)) : Value();
    SmallVector<Address> places;
    for (int64_t j = 0; j < shape.vectors; ++j) {
      int64_t column = e.vectorColumn(j, columns);
      places.push_back({e.mul(number, panel), column / 16 * panel + column % 16});
    }
    return places;
  }

  /// The products of a group, `words` of four features of a row.
  void addGroup(const Sides &sides, Value group, int64_t words, Registers &sums) {
    const int64_t rows = sides.shape.rows, vectors = sides.shape.vectors;
    Value zero = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(partType(), APInt(partBits(), 0)));
    Registers parts(rows * vectors, zero), codes(vectors), total(vectors);
    for (int64_t word = 0; word < words; ++word) {
      for (int64_t j = 0; j < vectors; ++j) {
        Value q = nibblesOf(codes[j], sides.columns[j], group, word);
        total[j] = total[j] ? arith::AddIOp::create(builder, loc, total[j], q).getResult() : q;
        for (int64_t row = 0; row < rows; ++row) {
          Value &part = parts[row * vectors + j];
          part = addProducts(rowWord(sides.rows[row], group, word), q, part);
        }
      }
    }
    Value base = e.wordConstant(static_cast<int32_t>(0x80808080), total.front().getType());
    Registers scales, minimums;
    for (int64_t j = 0; j < vectors; ++j) {
      total[j] = addProducts(base, total[j], zero);
      scales.push_back(halvesAt(sides.columns[j], group, 0));
      minimums.push_back(halvesAt(sides.columns[j], group, lineWords));
    }
    for (int64_t row = 0; row < rows; ++row) {
      Value scale = rowScale(sides.scales[row], group, 0),
            offset = rowScale(sides.scales[row], group, 1);
      for (int64_t j = 0; j < vectors; ++j) {
        Value &sum = sums[row * vectors + j];
        Value part = arith::SubIOp::create(builder, loc, parts[row * vectors + j], total[j]);
        part = arith::SIToFPOp::create(builder, loc, sum.getType(), asWords(part));
        Value factor = arith::MulFOp::create(builder, loc, scale, scales[j]);
        sum = multiplyAdd(part, factor, sum, /*guarded=*/false);
        sum = multiplyAdd(offset, minimums[j], sum, /*guarded=*/false);
      }
    }
  }

  //===--------------------------------------------------------------------===//
  // Products of bytes
  //===--------------------------------------------------------------------===//

  bool addsInShorts() const { return e.isX86() && !e.target.int8Dot4; }
  unsigned partBits() const { return addsInShorts() ? 16 : 32; }
  VectorType partType() {
    return VectorType::get({width * 32 / partBits()}, builder.getIntegerType(partBits()));
  }

  /// `c` and the products of the bytes of `a`, which have no sign, and of `b`, which are small.
  Value addProducts(Value a, Value b, Value c) {
    if (!addsInShorts())
      return e.dot4(a, b, c);
    auto bytes = VectorType::get({4 * width}, builder.getI8Type());
    Value sums =
        e.instruction(e.formOf("llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.avx2.pmadd.ub.sw",
                               "llvm.x86.avx512.pmaddubs.w.512"),
                      c.getType(),
                      {vector::BitCastOp::create(builder, loc, bytes, a),
                       vector::BitCastOp::create(builder, loc, bytes, b)});
    return arith::AddIOp::create(builder, loc, c, sums);
  }

  Value asWords(Value part) {
    if (!addsInShorts())
      return part;
    auto words = VectorType::get({width}, builder.getI32Type());
    Value zero = e.wordConstant(0, words),
          ones = arith::ConstantOp::create(
              builder, loc, DenseElementsAttr::get(cast<ShapedType>(part.getType()), APInt(16, 1)));
    return e.multiplyAddShorts(part, ones, zero);
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// The codes of four features. A line holds two words of them, the first in the low halves of its
  /// bytes; `line` keeps it.
  Value nibblesOf(Value &line, Address column, Value group, int64_t word) {
    Type words = VectorType::get({width}, builder.getI32Type());
    if (word % 2 == 0)
      line = e.loadAt(e.pointers[right().argument],
                      e.moved(column, e.mul(group, blockWords), word / 2 * lineWords), words,
                      builder.getI32Type());
    Value low = line;
    if (word % 2)
      low = arith::ShRUIOp::create(builder, loc, line, e.wordConstant(4, words));
    return arith::AndIOp::create(builder, loc, low, e.wordConstant(0x0f0f0f0f, words));
  }

  /// The f16 of the group, from this one of its last line on, as f32.
  Value halvesAt(Address column, Value group, int64_t first) {
    // In halves of words: a register begins at a column of its panel.
    int64_t inPanel = column.constant % lineWords;
    Address place{e.mul(column.dynamic, 2), 2 * (column.constant - inPanel) + inPanel};
    place = e.moved(place, e.mul(group, 2 * blockWords), 2 * groupLines * lineWords + first);
    Type half = builder.getI16Type();
    return e.widened(
        e.loadAt(e.pointers[right().argument], place, VectorType::get({width}, half), half));
  }

  Value rowWord(Address row, Value group, int64_t word) {
    Value value = e.loadWords(left(), e.moved(row, e.mul(group, format.group), word * 4),
                              /*vector=*/false);
    return e.splat(value, VectorType::get({width}, value.getType()));
  }

  Value rowScale(Address row, Value group, int64_t number) {
    Value value =
        e.loadScalars(e.view(op.getScales()), e.moved(row, e.mul(group, 2), number), 1).front();
    return e.splat(value, VectorType::get({width}, value.getType()));
  }
};
} // namespace

const ProductStrategy heddle::kernel::int4 = strategyOf<Int4>();
