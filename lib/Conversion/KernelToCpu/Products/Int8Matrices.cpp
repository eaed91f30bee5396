//===- Int8Matrices.cpp - Products of bytes through a matrix unit ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes in which a matrix unit sums tiles of several rows. Features are padded to 16, as
// in panels, with zeros on the right side. Integer sums have the same bits in any order.

#include "../CpuMatrices.h"
#include "Int8Dot4.h"

#include "heddle/Support/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

namespace {
struct Int8Matrices : Int8Dot4 {
  using Int8Dot4::Int8Dot4;
  static bool accepts(ProductOpInterface op, const CpuTarget &target) {
    return Int8Dot4::accepts(op, target) && !op.isOverRows() && !op.getRange().visited &&
           findMatrixUnit(target, operands);
  }

  /// Few rows are bound by memory, and matrices of few rows are not faster.
  int64_t matricesFrom() override { return 5; }

  /// Features after the last whole matrix are added in a second pass, because another shape of the
  /// registers clears the sums.
  void sumMatrices(const TileMemory &sums, Value count) override {
    CpuMatrices unit(e, operands);
    const int64_t all = padded(features()), whole = all / unit.depth() * unit.depth();
    if (whole)
      addMatrices(unit, sums, count, {0, whole, unit.depth()});
    if (whole < all)
      addMatrices(unit, sums, count, {whole, all, all - whole});
  }

private:
  static constexpr MatrixOperands operands = MatrixOperands::UnsignedBySigned;
  struct Features {
    int64_t from, to, step;
  };

  void addMatrices(CpuMatrices &unit, const TileMemory &sums, Value count, Features features) {
    unit.overBlocks(count, columnsInView(), features.step, [&](const CpuMatrices::Block &block) {
      addBlock(unit, sums, block, features);
    });
  }

  /// Adds the products of some features of a block.
  void addBlock(CpuMatrices &unit, const TileMemory &sums, const CpuMatrices::Block &block,
                Features features) {
    const BoundView right = this->right();
    const int64_t stored = padded(right.type.getDims().back().pitch.value),
                  pitch = sums.columns * word();
    int64_t step = 0; // elements between words of a panel
    Address rows = leftRows(oneVector()).front(),
            panels =
                e.moved(e.rightPlaces(op, oneVector(), step).front(), e.mul(block.column, stored));
    unit.overSums(sums, block, [&](Value matrix, Value place) {
      if (features.from)
        unit->loadSums(matrix, place, pitch);
      else
        unit->clear(matrix);
    });
    {
      OpBuilder::InsertionGuard guard(builder);
      Value k = e.loopBy(e.constant(features.from), e.constant(features.to), features.step)
                    .getInductionVar();
      SmallVector<Value> rights;
      for (int64_t j = 0; j < block.panels; ++j)
        rights.push_back(unit.loadRight(
            j,
            e.address(e.pointers[right.argument],
                      e.moved(panels, e.mul(k, step / word()), j * unit.columns() * stored),
                      builder.getI8Type()),
            step));
      for (int64_t i = 0; i < block.matrices; ++i) {
        Value rowsOfBlock = unit.loadLeft(i, left(), e.moved(rows, k));
        for (int64_t j = 0; j < block.panels; ++j)
          unit->accumulate(unit.sum(i, j), rowsOfBlock, rights[j]);
      }
    }
    unit.overSums(sums, block,
                  [&](Value matrix, Value place) { unit->store(matrix, place, pitch); });
  }
};
} // namespace

const ProductStrategy heddle::kernel::int8Matrices = strategyOf<Int8Matrices>();
