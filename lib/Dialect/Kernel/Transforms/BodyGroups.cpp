//===- BodyGroups.cpp - Numbers of codes in groups ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes codes whose groups of columns have scales, in the layout of
// Support/Formats.h. The product of an f16 scale and a code is exact in f32.
// The sum with the minimum is therefore rounded once on every target, whether
// or not it fuses the two.

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

namespace {
/// Emits the numbers of neighboring columns of one row.
class GroupedRow {
public:
  GroupedRow(BodyEmitter &emitter, const BoundView &view, Value row, Value column)
      : e(emitter), view(view), format(formatOf(view.type.getElementType())),
        inPanel(bits(row, 15)), inGroup(bits(column, format.group - 1)) {
    const int64_t columns = view.type.getDims().back().extent.value;
    block = e.add(e.mul(shifted(row, 16), panelBytes(format.type, columns) / 4),
                  e.mul(shifted(column, format.group), format.blockLines * lineWords));
  }

  Value numbers() {
    Value words = codeWords();
    const auto type = VectorType::get({e.width}, e.builder.getF32Type());
    Value codes = arith::SIToFPOp::create(e.builder, e.loc, type, codesOf(words));
    Value products =
        arith::MulFOp::create(e.builder, e.loc, codes, e.splat(half(/*first=*/0), type));
    return arith::AddFOp::create(e.builder, e.loc, products, e.splat(half(lineWords), type));
  }

private:
  static constexpr int64_t lineWords = 16;

  bool isInt4() const { return format.type == DType::I4; }
  Value bits(Value index, int64_t mask) {
    return e.builder.createOrFold<arith::AndIOp>(e.loc, index, e.constant(mask));
  }
  Value shifted(Value index, int64_t divisor) {
    return e.builder.createOrFold<arith::DivUIOp>(e.loc, index, e.constant(divisor));
  }

  /// The word that holds the code of each lane. Words of neighboring columns are a line apart.
  Value codeWords() {
    Value first = e.add(e.add(block, inPanel), e.mul(shifted(inGroup, format.perWord), lineWords));
    SmallVector<Value> words, lanes;
    for (int64_t lane = 0; lane < e.width; ++lane) {
      if (lane % format.perWord == 0)
        words.push_back(e.loadPanelWord(view, {first, lane / format.perWord * lineWords}));
      lanes.push_back(words.back());
    }
    const auto type = VectorType::get({e.width}, e.builder.getI32Type());
    return vector::FromElementsOp::create(e.builder, e.loc, type, lanes);
  }

  /// The code of each lane as i32. A word of i4 holds four codes in the low halves of its bytes and
  /// the next four in the high halves; other words hold bytes of 128 + code.
  Value codesOf(Value words) {
    const Type type = words.getType();
    SmallVector<int32_t> places;
    for (int64_t lane = 0; lane < e.width; ++lane)
      places.push_back(static_cast<int32_t>(lane % 4 * 8 + (isInt4() ? lane / 4 % 2 * 4 : 0)));
    Value shifts = arith::ConstantOp::create(
        e.builder, e.loc, DenseIntElementsAttr::get(cast<VectorType>(type), places));
    if (isInt4() && e.width < format.perWord) { // the register may begin at the second four
      Value isSecond = toWord(bits(shifted(inGroup, 4), 1));
      Value four =
          arith::ShLIOp::create(e.builder, e.loc, isSecond, e.wordConstant(2, isSecond.getType()));
      shifts = arith::AddIOp::create(e.builder, e.loc, shifts, e.splat(four, type));
    }
    Value codes = arith::ShRUIOp::create(e.builder, e.loc, words, shifts);
    codes =
        arith::AndIOp::create(e.builder, e.loc, codes, e.wordConstant(isInt4() ? 15 : 255, type));
    return isInt4() ? codes
                    : arith::SubIOp::create(e.builder, e.loc, codes, e.wordConstant(128, type))
                          .getResult();
  }

  /// Scale (`first` 0) or minimum of the row: a half of the group's last line.
  Value half(int64_t first) {
    Value pair = e.add(block, shifted(inPanel, 2));
    Value words = e.loadPanelWord(view, {pair, (format.blockLines - 1) * lineWords + first / 2});
    Value shift = toWord(e.mul(bits(inPanel, 1), 16));
    Value low = arith::ShRUIOp::create(e.builder, e.loc, words, shift);
    return e.widenedHalves(
        arith::AndIOp::create(e.builder, e.loc, low, e.wordConstant(0xffff, low.getType())));
  }

  /// An index as i32.
  Value toWord(Value index) {
    const Type i32 = e.builder.getI32Type();
    return index.getType() == i32
               ? index
               : arith::TruncIOp::create(e.builder, e.loc, i32, index).getResult();
  }

  BodyEmitter &e;
  const BoundView &view;
  const ElementFormat &format;
  Value inPanel, inGroup; ///< row in its panel, first column in its group
  Value block;            ///< first word of the group's block
};
} // namespace

Value BodyEmitter::loadFromGroups(const BoundView &view, Value row, Value column) {
  return GroupedRow(*this, view, row, column).numbers();
}
