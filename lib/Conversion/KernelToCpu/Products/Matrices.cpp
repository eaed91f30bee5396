//===- Matrices.cpp - Products through a matrix unit ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products over features in which a matrix unit sums tiles.
//
// Integer sums have the same bits in any order, so few rows of bytes are multiplied without the
// unit. A sum of bf16 has the order of the unit, so the unit sums every row.

#include "../CpuMatrices.h"
#include "Int8Dot4.h"

#include "heddle/Support/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

namespace {
/// Features of a pass over the tile, and features of a step.
struct Features {
  int64_t from, to, step;
};
} // namespace

/// Features after the last whole matrix are added in a second pass, because another shape of the
/// registers clears the sums.
void CpuProduct::sumByUnit(MatrixOperands operands, int64_t end, const TileMemory &sums,
                           Value count) {
  CpuMatrices unit(e, operands);
  const BoundView right = this->right();
  const int64_t stored = padded(right.type.getDims().back().pitch.value),
                pitch = sums.columns * sums.element.getIntOrFloatBitWidth() / 8;
  const Type element = e.memoryElement(right.type.getElementType());
  auto addBlock = [&](const CpuMatrices::Block &block, const Features &pass) {
    int64_t step = 0; // elements between words of a panel
    Address rows = leftRows(oneVector()).front(),
            panels =
                e.moved(e.rightPlaces(op, oneVector(), step).front(), e.mul(block.column, stored));
    unit.overSums(sums, block, [&](Value matrix, Value place) {
      if (pass.from)
        unit->loadSums(matrix, place, pitch);
      else
        unit->clear(matrix);
    });
    {
      OpBuilder::InsertionGuard guard(builder);
      Value k = e.loopBy(e.constant(pass.from), e.constant(pass.to), pass.step).getInductionVar();
      SmallVector<Value> rights;
      for (int64_t j = 0; j < block.panels; ++j)
        rights.push_back(unit.loadRight(
            j,
            e.address(e.pointers[right.argument],
                      e.moved(panels, e.mul(k, step / word()), j * unit.columns() * stored),
                      element),
            step * element.getIntOrFloatBitWidth() / 8));
      for (int64_t i = 0; i < block.matrices; ++i) {
        Value rowsOfBlock = unit.loadLeft(i, left(), e.moved(rows, k));
        for (int64_t j = 0; j < block.panels; ++j)
          unit->accumulate(unit.sum(i, j), rowsOfBlock, rights[j]);
      }
    }
    unit.overSums(sums, block,
                  [&](Value matrix, Value place) { unit->store(matrix, place, pitch); });
  };
  auto add = [&](const Features &pass) {
    unit.overBlocks(count, columnsInView(), pass.step,
                    [&](const CpuMatrices::Block &block) { addBlock(block, pass); });
  };
  const int64_t whole = end / unit.depth() * unit.depth();
  if (whole)
    add({0, whole, unit.depth()});
  if (whole < end)
    add({whole, end, end - whole});
}

namespace {
/// Products of bytes. Features are padded to 16, as in panels, with zeros on the right side.
struct Int8Matrices : Int8Dot4 {
  using Int8Dot4::Int8Dot4;
  static constexpr MatrixOperands operands = MatrixOperands::UnsignedBySigned;
  static bool accepts(ProductOpInterface op, const CpuTarget &target) {
    return Int8Dot4::accepts(op, target) && !op.isOverRows() && !op.getRange().visited &&
           findMatrixUnit(target, operands);
  }

  /// Few rows are bound by memory, and matrices of few rows are not faster.
  int64_t matricesFrom() override { return 5; }
  void sumMatrices(const TileMemory &sums, Value count) override {
    sumByUnit(operands, padded(features()), sums, count);
  }
};

/// Products of bf16 with weights. The unit reads no padding of the left side except the feature
/// that shares a word with the last one, because padding may hold a NaN.
struct Bf16Matrices : CpuProduct {
  using CpuProduct::CpuProduct;
  static constexpr MatrixOperands operands = MatrixOperands::Bf16;
  static bool accepts(ProductOpInterface op, const CpuTarget &target) {
    return op.getFormat().weights == DType::BF16 && !op.convertsRight() && op.readsWeights() &&
           !op.isOverRows() && findMatrixUnit(target, operands);
  }

  int64_t matricesFrom() override { return 1; }
  void sumMatrices(const TileMemory &sums, Value count) override {
    sumByUnit(operands, wholeFeatures(), sums, count);
  }
};
} // namespace

const ProductStrategy heddle::kernel::int8Matrices = strategyOf<Int8Matrices>();
const ProductStrategy heddle::kernel::bf16Matrices = strategyOf<Bf16Matrices>();
