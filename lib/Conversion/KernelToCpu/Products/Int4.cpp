//===- Int4.cpp - Products with weights of i4 ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes as Support/Formats.h stores them: a line of words is eight features of 16
// columns, and 32 features of a column share a scale. Few rows decode in registers, many
// read what was decoded once (packed); either way they multiply what the f32 kernel of
// these numbers does.

#include "../CpuProduct.h"

#include "heddle/Dialect/Kernel/Transforms/BodyNibbles.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

static constexpr const ElementFormat &format = formatOf(DType::I4);
/// Words of a line; features of a word, and of a line.
static constexpr int64_t lineWords = 16, wordFeatures = format.perWord;
/// Words of a block of features: lines of codes, one of scales.
static constexpr int64_t blockWords = format.blockLines * lineWords;

namespace {
struct Int4 : CpuProduct {
  using CpuProduct::CpuProduct;
  static bool accepts(const NumberFormat &format, const CpuTarget &) {
    return format.weights == DType::I4;
  }

  bool decodes() const override { return true; }

  Operand loadB(const Fragment &shape) override {
    int64_t columns = CpuEmitter::columnsOf(op.getType());
    Address first = panelOf(e.columnBase(columns));
    SmallVector<Address> places;
    for (int64_t j = 0; j < shape.vectors; ++j) {
      int64_t column = e.vectorColumn(j, columns);
      places.push_back(e.moved(first, Value(), column / 16 * panelWords() + column % 16));
    }
    return [=, this, codes = Registers(shape.vectors),
            scales = Registers(shape.vectors)](Value k, int64_t j, int64_t u) mutable -> Value {
      if (u % format.group == 0)
        scales[j] = loadScales(places[j], k);
      if (u % wordFeatures == 0)
        codes[j] = loadCodes(places[j], k, u);
      return decodedNibbles(e, codes[j], scales[j], u % wordFeatures);
    };
  }

  /// By groups that share scales, unless a block of features begins inside one.
  int64_t unrolled() override {
    bool whole =
        !e.isBlocked(*op) || e.kernel.getScheduleOrDefault().getKblock() % format.group == 0;
    return whole ? format.group : wordFeatures;
  }
  /// Panels of i4 are small, and read in order when they are decoded.
  bool fetchesNextPanels() const override { return false; }
  std::optional<TileMemory> packedForm() override { return decodedForm(); }

  /// Columns from a multiple of 16 on, of the features [from, to).
  void packPanels(const TileMemory &packed, ColumnRange columns, Value from, Value to) override {
    OpBuilder::InsertionGuard guard(builder);
    Value column = e.loopBy(columns.from, columns.to, 16).getInductionVar();
    Address panel = panelOf(column);
    Value feature = e.loopBy(from, to, wordFeatures).getInductionVar();
    Address target = e.moved({e.mul(column, packed.rows), 0}, e.mul(e.sub(feature, from), 16));
    for (int64_t lane = 0; lane < 16; lane += width) {
      Address place = e.moved(panel, Value(), lane);
      Value codes = loadCodes(place, feature, 0), scales = loadScales(place, feature);
      for (int64_t u = 0; u < wordFeatures; ++u)
        e.storeAt(decodedNibbles(e, codes, scales, u), packed.base,
                  e.moved(target, Value(), u * 16 + lane), packed.element);
    }
  }

  int64_t panelWords() { return panelBytes(DType::I4, features()) / 4; }

  /// Where columns from a multiple of 16 on begin.
  Address panelOf(Value column) {
    Value first = e.add(e.scalar(op.getRhsIndex()), column);
    Value number = builder.createOrFold<arith::DivUIOp>(loc, first, e.constant(16));
    return e.moved({Value(), 0}, e.mul(number, panelWords()));
  }

  /// The line of eight features; `feature` is a multiple of eight.
  Value loadCodes(Address panel, Value feature, int64_t further) {
    // Two words a feature, and a line of scales in each block.
    Value blocks =
        builder.createOrFold<arith::DivUIOp>(loc, feature, e.constant(format.blockColumns));
    Address place = e.moved(panel, e.add(e.mul(feature, 2), e.mul(blocks, lineWords)), 2 * further);
    return e.loadAt(e.pointers[right().argument], place,
                    VectorType::get({width}, builder.getI32Type()), builder.getI32Type());
  }

  /// The scales of the group that holds the feature.
  Value loadScales(Address panel, Value feature) {
    Value number = builder.createOrFold<arith::DivUIOp>(loc, feature, e.constant(format.group));
    Value block =
        builder.createOrFold<arith::DivUIOp>(loc, feature, e.constant(format.blockColumns));
    Value second = e.sub(number, e.mul(block, 2));
    // In halves of words: a register begins at a column of its panel.
    int64_t column = panel.constant % 16;
    Address place{e.mul(panel.dynamic, 2), 2 * (panel.constant - column) + column};
    place =
        e.moved(place, e.add(e.mul(block, 2 * blockWords), e.mul(second, 16)), 2 * 8 * lineWords);
    Type half = builder.getI16Type();
    return e.widened(
        e.loadAt(e.pointers[right().argument], place, VectorType::get({width}, half), half));
  }
};
} // namespace

const ProductStrategy heddle::kernel::int4 = strategyOf<Int4>();
