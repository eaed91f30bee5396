//===- Int4.cpp - Products with weights of i4 -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of bytes p times codes q as Support/Formats.h stores them: a quad of
// words is eight features of four columns. 32 features of a column share a scale d and a
// minimum m, those of a row e and s. Group by group:
//
//   u    sum of p * q, an integer below 2^24, so that f32 holds it exactly
//   sum  Fma(u, e * d, sum), then Fma(s, m, sum)

#include "../GpuProduct.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using heddle::kernel::Address;
using heddle::kernel::BoundView;

static constexpr const ElementFormat &format = formatOf(DType::I4);
/// Features of a word, in which places of i4 are counted; words of a line, and of a group in a panel;
/// words of a group in a row.
static constexpr int64_t wordFeatures = format.perWord, lineWords = 16,
                         blockWords = format.blockLines * lineWords,
                         groupBytes = format.group / formatOf(DType::I8).perWord;
static_assert(format.group == format.blockColumns);

namespace {
struct Int4 : GpuProduct {
  using GpuProduct::GpuProduct;
  static bool accepts(kernel::ContractOp op, const GpuTarget &) {
    return op.getFormat().weights == DType::I4;
  }

  /// Words of the codes of features 0 to 7, and of the scales of their group.
  void placeRight() override {
    int64_t columns = GpuEmitter::columnsOf(op.getType()),
            panel = panelBytes(DType::I4, features()) / 4;
    Value first = e.add(e.scalar(op.getRhsIndex()), e.columnBase(columns));
    for (int64_t j = 0; j < shape.vectors; ++j) {
      Value column = e.add(first, e.constant(e.vectorColumn(j, columns)));
      Value inside = arith::AndIOp::create(builder, loc, column, e.constant(15));
      Value start =
          e.mul(arith::ShRUIOp::create(builder, loc, column, e.constant(4)).getResult(), panel);
      auto placeOf = [&](Value words) -> Address {
        return {e.add(right().offset, e.mul(e.add(start, words), wordFeatures)), 0};
      };
      rightPlaces.push_back(placeOf(inside));
      halfPlaces.push_back(placeOf(arith::ShRUIOp::create(builder, loc, inside, e.constant(1))));
    }
  }

  void sumProducts(Registers &sums) override {
    rowsAt = rowStart(e.view(op.getLhs()));
    scalesAt = rowStart(scales());
    const int64_t whole = features() / format.group, rest = features() % format.group;
    if (whole)
      loopOver(0, whole, groupBytes, sums);
    if (rest)
      loopOver(whole, whole + 1, (rest + 3) / 4, sums);
  }

private:
  int64_t features() { return right().type.getDims().back().extent.value; }
  const BoundView &scales() { return e.view(op.getScales()); }

  /// The groups [first, last), of `words` of four features of a row each.
  void loopOver(int64_t first, int64_t last, int64_t words, Registers &sums) {
    e.loopOver(e.constant(first), end(e.constant(last)), 1, sums,
               [&](Value group) { addGroup(group, words, sums); });
  }

  void addGroup(Value group, int64_t words, Registers &sums) {
    Registers parts(shape.size(), e.zeroVector()), codes(shape.vectors), quads(shape.rows);
    Value far = e.mul(group, blockWords * wordFeatures);
    for (int64_t word = 0; word < words; ++word) {
      Registers q;
      for (int64_t j = 0; j < shape.vectors; ++j)
        q.push_back(nibblesOf(codes[j], e.moved(rightPlaces[j], far), word));
      for (int64_t row = 0; row < shape.rows; ++row) {
        Value p = rowWord(quads[row], group, row, word);
        for (int64_t j = 0; j < shape.vectors; ++j) {
          Value &part = parts[row * shape.vectors + j];
          for (int64_t byte = 0; byte < 4; ++byte)
            part = math::FmaOp::create(builder, loc, e.byteAsFloat(q[j], byte, /*isSigned=*/false),
                                       e.byteAsFloat(p, byte, /*isSigned=*/true), part);
        }
      }
    }
    for (int64_t j = 0; j < shape.vectors; ++j)
      addScaled(group, j, parts, sums);
  }

  /// Adds the group's integers of four columns to their sums.
  void addScaled(Value group, int64_t j, ArrayRef<Value> parts, Registers &sums) {
    Value d = halvesAt(j, group, 0), m = halvesAt(j, group, lineWords / 2);
    for (int64_t row = 0; row < shape.rows; ++row) {
      Value &sum = sums[row * shape.vectors + j];
      Value u = parts[row * shape.vectors + j];
      Value factor = arith::MulFOp::create(builder, loc, rowScale(group, row, 0), d);
      sum = math::FmaOp::create(builder, loc, u, factor, sum);
      sum = math::FmaOp::create(builder, loc, rowScale(group, row, 1), m, sum);
    }
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// The codes of four features of four columns. A line holds two words of them, the first in the low
  /// halves of its bytes; `line` keeps it.
  Value nibblesOf(Value &line, Address group, int64_t word) {
    if (word % 2 == 0)
      line = e.asWords(spirv::LoadOp::create(
          builder, loc,
          e.vec4At(right(), e.moved(group, {}, word / 2 * lineWords * wordFeatures))));
    Type type = line.getType();
    Value low = line;
    if (word % 2)
      low = arith::ShRUIOp::create(builder, loc, line, e.wordConstant(4, type));
    return arith::AndIOp::create(builder, loc, low, e.wordConstant(0x0f0f0f0f, type));
  }

  /// Four f16 of the group's last line, which begin so many words behind the first scale.
  Value halvesAt(int64_t j, Value group, int64_t first) {
    int64_t words = format.group / wordFeatures * lineWords + first;
    Address place =
        e.moved(halfPlaces[j], e.mul(group, blockWords * wordFeatures), words * wordFeatures);
    Value low = spirv::LoadOp::create(builder, loc, e.wordAt(right(), place)),
          high = spirv::LoadOp::create(builder, loc,
                                       e.wordAt(right(), e.moved(place, {}, wordFeatures)));
    return e.unpackFour(low, high, builder.getF16Type());
  }

  /// A word of four features of a row; `quad` keeps the four words that were loaded at once.
  Value rowWord(Value &quad, Value group, int64_t row, int64_t word) {
    const BoundView &left = e.view(op.getLhs());
    int64_t perWord = GpuEmitter::perWord(left), inQuad = word % GpuProduct::vec4;
    if (inQuad == 0) {
      Address place{e.add(rowsAt, e.mul(group, format.group)),
                    row * pitchOf(left) + word * perWord};
      quad = e.asWords(spirv::LoadOp::create(builder, loc, e.vec4At(left, place)));
    }
    Value one = vector::ExtractOp::create(builder, loc, quad, inQuad);
    return e.splat(one, VectorType::get({width}, one.getType()));
  }

  Value rowScale(Value group, int64_t row, int64_t number) {
    Address place{e.add(scalesAt, e.mul(group, 2)), row * pitchOf(scales()) + number};
    Value one = spirv::LoadOp::create(builder, loc, e.wordAt(scales(), place));
    return e.splat(one, VectorType::get({width}, one.getType()));
  }

  static int64_t pitchOf(const BoundView &view) {
    return padded(view.type.getDims().back().pitch.value);
  }

  SmallVector<Address> halfPlaces; ///< like rightPlaces
  Value rowsAt, scalesAt;          ///< this invocation's first row
};
} // namespace

const GpuProductStrategy heddle::gpuInt4 = gpuStrategyOf<Int4>();
