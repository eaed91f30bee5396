//===- Bf16Matrices.cpp - Products of bf16 through a matrix unit ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bf16 in which a matrix unit sums every row, because its sums have an order of their
// own: in each block of 32 features or keys, the unit adds a chain of even and a chain of odd
// products, each from zero, to the sum.
//
//   over features   panels of weights or keys, which hold the words that the unit reads; keys of
//                   another type are packed
//   over rows       softmax weights in scratch by values, whose pairs of rows are packed. Blocks are
//                   aligned to the first key of the chunk; weights and values outside the range of
//                   keys are zero
//
// If a sum over rows is not finite, its row fragment is summed again without the unit, in the same
// order, and omits products of a zero and a non-finite value.

#include "../CpuMatrices.h"
#include "Bf16Dot2.h"

#include "heddle/Support/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

namespace {
constexpr MatrixOperands bf16 = MatrixOperands::Bf16;

struct Bf16Matrices : KeptAsBf16 {
  using KeptAsBf16::KeptAsBf16;
  static bool accepts(ProductOpInterface op, const CpuTarget &target) {
    return Bf16Dot2::accepts(op, target) && !isa<ContractCommonOp>(*op) &&
           wordsOfPacked(op) <= mostWords && findMatrixUnit(target, bf16);
  }

  int64_t matricesFrom() override { return 1; }
  void sumMatrices(const TileMemory &sums, Value count) override {
    count = e.maximum(count, e.constant(0)); // a tile past the last group of rows has none
    if (op.isOverRows())
      return sumKeys(sums, count);
    if (op.convertsRight())
      packKeys();
    sumByUnit(bf16, evenFeatures(), sums, count);
  }

  /// Sums rows in the order of the unit, from packed B.
  RowPart sumRows(const Fragment &shape, const TileMemory &left) override;
  /// Tiles narrower than a block of the unit are not skipped. Their weights are zero.
  RowRange visitedRange() override {
    RowRange range = op.getRange();
    if (op.isOverRows() && range.visited && range.visitTile % keys != 0)
      range.visited = {};
    return range;
  }

private:
  /// Keys of a block.
  static constexpr int64_t keys = 32;
  static constexpr int64_t mostWords = 64 << 10;

  static int64_t wordsOfPacked(ProductOpInterface op) {
    if (op.isOverRows())
      return CpuEmitter::columnsOf(op.getLhs().getType()) / 2 * padded(featuresOf(op));
    return op.convertsRight() ? CpuEmitter::columnsOf(op.getType()) * (padded(featuresOf(op)) / 2)
                              : 0;
  }

  /// B is packed before the row loops, where the unit reads it.
  std::optional<TileMemory> packedForm() override { return std::nullopt; }
  TileMemory placePacked() {
    TileMemory form;
    form.columns = op.isOverRows() ? padded(features()) : CpuEmitter::columnsOf(op.getType());
    form.rows = wordsOfPacked(op) / form.columns;
    form.element = builder.getI32Type();
    place(form);
    return packedMemory();
  }
  int64_t evenFeatures() { return (features() + 1) / 2 * 2; }
  void packKeys() {
    const TileMemory packed = placePacked();
    const auto pairs = static_cast<int64_t>(llvm::alignTo(features(), together())) / 2;
    const RowRange range = op.getRange();
    forVisited(range.from ? e.scalar(range.from) : e.constant(0), columnsInView(),
               [&](Value begin, Value end) {
                 packPanels(packed, {begin, end}, e.constant(0), e.constant(pairs));
               });
  }

  struct KeyRange {
    Value from, to;    ///< keys of the range
    Value first, last; ///< `from` rounded down and `to` rounded up to blocks
  };
  KeyRange keyRange();
  void sumKeys(const TileMemory &sums, Value count);
  void clearWeights(const TileMemory &weights, Value count, Value from, Value to);
  void clearValues(const TileMemory &values, Value from, Value to);
  void packValues(const TileMemory &values, const KeyRange &range);
  CpuMatrices::Sides sidesOfKeys(CpuMatrices &unit, const CpuMatrices::Block &block,
                                 const TileMemory &weights, const TileMemory &values);
};
} // namespace

Bf16Matrices::KeyRange Bf16Matrices::keyRange() {
  const RowRange range = op.getRange();
  auto floor = [&](Value row) {
    return e.mul(builder.createOrFold<arith::DivUIOp>(loc, row, e.constant(keys)), keys);
  };
  Value to = e.scalar(range.to),
        from = range.from ? e.minimum(e.scalar(range.from), to) : e.constant(0);
  return {from, to, floor(from), floor(e.add(to, e.constant(keys - 1)))};
}

/// Sets columns [from, to) of the first `count` rows of the weights to zero.
void Bf16Matrices::clearWeights(const TileMemory &weights, Value count, Value from, Value to) {
  OpBuilder::InsertionGuard guard(builder);
  Value row = e.loopBy(e.constant(0), count, 1).getInductionVar();
  Value column = e.loopBy(from, to, 1).getInductionVar();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(weights.element, 0));
  e.storeAt(zero, weights.base, {e.add(e.mul(row, weights.columns), column), 0}, weights.element);
}

/// Sets packed rows [from, to) to zero.
void Bf16Matrices::clearValues(const TileMemory &values, Value from, Value to) {
  OpBuilder::InsertionGuard guard(builder);
  Value row = e.loopBy(from, to, 1).getInductionVar();
  auto words = VectorType::get({width}, builder.getI32Type());
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(words));
  for (int64_t column = 0; column < values.columns; column += width)
    e.storeAt(zero, values.base, {e.mul(row, values.columns), column}, values.element);
}

/// Packs the visited values of the range. The other values of its first and last block are zero.
void Bf16Matrices::packValues(const TileMemory &values, const KeyRange &range) {
  auto half = [&](Value row) {
    return builder.createOrFold<arith::ShRUIOp>(loc, row, e.constant(1));
  };
  clearValues(values, half(range.first), half(range.from));
  forVisited(range.from, range.to, [&](Value begin, Value end) { packRows(values, begin, end); });
  clearValues(values, half(e.add(range.to, e.constant(1))), half(range.last));
}

CpuMatrices::Sides Bf16Matrices::sidesOfKeys(CpuMatrices &unit, const CpuMatrices::Block &block,
                                             const TileMemory &weights, const TileMemory &values) {
  constexpr int64_t weightBytes = 2, wordBytes = 4;
  return {[&](int64_t i, Value key) {
            Address place = e.placeIn(weights, i * unit.rows(), key, 0);
            return unit.loadLeft(i, e.address(weights.base, place, weights.element),
                                 weights.columns * weightBytes);
          },
          [&](int64_t j, Value key) {
            Value row = e.mul(builder.createOrFold<arith::ShRUIOp>(loc, key, e.constant(1)),
                              values.columns);
            Address place{e.add(row, block.column), j * unit.columns()};
            return unit.loadRight(j, e.address(values.base, place, values.element),
                                  values.columns * wordBytes);
          }};
}

/// Sums over the visited keys, block after block. The unit always multiplies whole blocks.
void Bf16Matrices::sumKeys(const TileMemory &sums, Value count) {
  const TileMemory weights = *e.scratch.find(op.getLhs()), values = placePacked();
  const KeyRange range = keyRange();
  clearWeights(weights, count, range.first, range.from);
  clearWeights(weights, count, range.to, range.last);
  packValues(values, range);
  CpuMatrices unit(e, bf16);
  unit.overBlocks(count, {{}, e.constant(values.columns)}, keys,
                  [&](const CpuMatrices::Block &block) {
                    const CpuMatrices::Sides sides = sidesOfKeys(unit, block, weights, values);
                    unit.sumBlock(block, sums, /*continues=*/false, [&] {
                      forVisited(range.first, range.last, [&](Value begin, Value end) {
                        unit.multiply(block, sides, begin, end, keys);
                      });
                    });
                  });
}

CpuProduct::RowPart Bf16Matrices::sumRows(const Fragment &shape, const TileMemory &left) {
  const TileMemory values = packedMemory();
  const int64_t columns = CpuEmitter::columnsOf(op.getType());
  Value first = e.columnBase(columns);
  /// Adds the pair of rows `k` to chains of even and of odd products.
  auto addPair = [=, this, &shape, &left](Value k, Registers &chains, bool guarded) {
    Value row = e.mul(k, values.columns);
    for (int64_t j = 0; j < shape.vectors; ++j) {
      auto words = VectorType::get({width}, values.element);
      Address place = e.moved({row, e.vectorColumn(j, columns)}, first);
      auto [evenB, oddB] = e.halvesOf(e.loadAt(values.base, place, words, values.element));
      for (int64_t r = 0; r < shape.rows; ++r) {
        Value pair = e.loadAt(left.base, e.placeIn(left, r, e.mul(k, 2), 0), builder.getI32Type(),
                              left.element);
        auto [evenA, oddA] = e.halvesOf(e.splat(pair, words));
        Value *chain = &chains[2 * (r * shape.vectors + j)];
        chain[0] = multiplyAdd(evenA, evenB, chain[0], guarded);
        chain[1] = multiplyAdd(oddA, oddB, chain[1], guarded);
      }
    }
  };
  return [=, this, &shape](Value begin, Value end, Registers sums, bool guarded) {
    const KeyRange range = keyRange();
    begin = e.maximum(begin, range.first);
    begin = builder.createOrFold<arith::AndIOp>(loc, begin, e.constant(-keys));
    e.loopOver(begin, end, keys, sums, [&](Value block) {
      Registers chains(2 * shape.size(), e.zeroVector());
      Value pair = builder.createOrFold<arith::ShRUIOp>(loc, block, e.constant(1));
      e.loopOver(pair, e.add(pair, e.constant(keys / 2)), 1, chains,
                 [&](Value k) { addPair(k, chains, guarded); });
      for (int64_t i = 0; i < shape.size(); ++i)
        sums[i] = arith::AddFOp::create(
            builder, loc, sums[i],
            arith::AddFOp::create(builder, loc, chains[2 * i], chains[2 * i + 1]));
    });
    return sums;
  };
}

const ProductStrategy heddle::kernel::bf16Matrices = strategyOf<Bf16Matrices>();
