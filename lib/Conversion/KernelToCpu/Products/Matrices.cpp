//===- Matrices.cpp - Products through a matrix unit ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products over features in which a matrix unit sums tiles, and products of bytes.

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
  auto addBlock = [&](const CpuMatrices::Block &block, const Features &pass) {
    const CpuMatrices::Sides sides = sidesOf(unit, block);
    unit.sumBlock(block, sums, /*continues=*/pass.from != 0, [&] {
      unit.multiply(block, sides, e.constant(pass.from), e.constant(pass.to), pass.step);
    });
  };
  auto add = [&](const Features &pass) {
    auto overColumns = [&](ColumnRange columns) {
      unit.overBlocks(count, columns, pass.step,
                      [&](const CpuMatrices::Block &block) { addBlock(block, pass); });
    };
    const RowRange range = op.getRange();
    if (!range.visited)
      return overColumns({range.from ? e.scalar(range.from) : Value(), columnsInView()});
    forVisited(range.from ? e.scalar(range.from) : e.constant(0), columnsInView(),
               [&](Value begin, Value end) { overColumns({begin, end}); });
  };
  const int64_t whole = end / unit.depth() * unit.depth();
  if (whole)
    add({0, whole, unit.depth()});
  if (whole < end)
    add({whole, end, end - whole});
}

/// Rows of the left view, and the panels of B or of packed B. A panel has rows of 16 words.
CpuMatrices::Sides CpuProduct::sidesOf(CpuMatrices &unit, const CpuMatrices::Block &block) {
  const BoundView right = this->right();
  Value base = packed ? packed->memory.base : e.pointers[right.argument];
  const Type element =
      packed ? packed->memory.element : e.memoryElement(right.type.getElementType());
  // Elements between columns, and between rows of a panel.
  int64_t stored = padded(right.type.getDims().back().pitch.value), step = 0;
  Address rows = leftRows(oneVector()).front(), panels{Value(), 0};
  if (packed)
    stored = packed->memory.rows, step = 16;
  else
    panels = e.rightPlaces(op, oneVector(), step).front();
  const int64_t perRow = packed ? 2 : word();
  panels = e.moved(panels, e.mul(block.column, stored));
  return {
      [=, this, &unit](int64_t i, Value k) { return unit.loadLeft(i, left(), e.moved(rows, k)); },
      [=, this, &unit](int64_t j, Value k) {
        Address place = e.moved(panels, e.mul(k, step / perRow), j * unit.columns() * stored);
        return unit.loadRight(j, e.address(base, place, element),
                              step * element.getIntOrFloatBitWidth() / 8);
      }};
}

namespace {
/// Products of bytes. Features are padded to 16, as in panels, with zeros on the right side.
///
/// Integer sums have the same bits in any order, so few rows are multiplied without the unit.
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
} // namespace

const ProductStrategy heddle::kernel::int8Matrices = strategyOf<Int8Matrices>();
