//===- CpuNibbles.cpp - Weights of i4 on the CPU -*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes as Support/Program.h stores them: a line of words is eight features of 16
// columns, and 32 features of a column share a scale. Few rows decode in registers,
// many read what was decoded once (CpuSides.cpp); either way they multiply what the
// f32 kernel of these numbers does.
//
//===----------------------------------------------------------------------===//

#include "CpuEmitter.h"

#include "heddle/Support/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// Words of a line; features of a word, and of a line.
static constexpr int64_t lineWords = 16, wordFeatures = 8;
/// Words of a block of 64 features: eight lines of codes, one of scales.
static constexpr int64_t blockWords = 9 * lineWords;

int64_t CpuEmitter::panelWords(ContractOp op) {
  return nibblePanelBytes(view(op.getRhs()).type.getDims().back().extent.value) / 4;
}

/// Where columns from a multiple of 16 on begin.
Place CpuEmitter::nibblePanel(ContractOp op, Value column) {
  Value first = add(scalar(op.getRhsIndex()), column);
  Value number = builder.createOrFold<arith::DivUIOp>(loc, first, constant(16));
  return moved({Value(), 0}, mul(number, panelWords(op)));
}

/// The line of eight features; `feature` is a multiple of eight.
Value CpuEmitter::loadNibbles(ContractOp op, Place panel, Value feature, int64_t further) {
  // Two words a feature, and a line of scales in each block.
  Value blocks = builder.createOrFold<arith::DivUIOp>(loc, feature, constant(nibbleBlock));
  Place place = moved(panel, add(mul(feature, 2), mul(blocks, lineWords)), 2 * further);
  return loadAt(pointers[view(op.getRhs()).argument], place,
                VectorType::get({width}, builder.getI32Type()), builder.getI32Type());
}

/// The scales of the group that holds the feature.
Value CpuEmitter::loadScales(ContractOp op, Place panel, Value feature) {
  Value number = builder.createOrFold<arith::DivUIOp>(loc, feature, constant(nibbleGroup));
  Value block = builder.createOrFold<arith::DivUIOp>(loc, feature, constant(nibbleBlock));
  Value second = sub(number, mul(block, 2));
  // In halves of words: a register begins at a column of its panel.
  int64_t column = panel.constant % 16;
  Place place{mul(panel.dynamic, 2), 2 * (panel.constant - column) + column};
  place = moved(place, add(mul(block, 2 * blockWords), mul(second, 16)), 2 * 8 * lineWords);
  Type half = builder.getI16Type();
  return widened(
      loadAt(pointers[view(op.getRhs()).argument], place, VectorType::get({width}, half), half));
}

/// Sums over the features [from, to).
SmallVector<Value> CpuEmitter::contractNibbles(ContractOp op, const Fragment &shape,
                                               SmallVector<Value> sums, Value from, Value to) {
  int64_t columns = columnsOf(op.getType());
  Place first = nibblePanel(op, columnBase(columns));
  SmallVector<Place> places;
  for (int64_t j = 0; j < shape.vectors; ++j) {
    int64_t column = vectorColumn(j, columns);
    places.push_back(moved(first, Value(), column / 16 * panelWords(op) + column % 16));
  }
  SmallVector<Value> words(shape.vectors), scales(shape.vectors);
  auto loadRight = [&](Value k, int64_t j, int64_t u) -> Value {
    if (u % nibbleGroup == 0)
      scales[j] = loadScales(op, places[j], k);
    if (u % wordFeatures == 0)
      words[j] = loadNibbles(op, places[j], k, u);
    return decodedNibbles(words[j], scales[j], u % wordFeatures);
  };
  // By groups that share scales, unless a block of features begins inside one.
  bool whole = !isBlocked(*op) || kernel.getScheduleOrDefault().getKblock() % nibbleGroup == 0;
  return overFeatures(op, shape, std::move(sums), from, to, loadRight,
                      whole ? nibbleGroup : wordFeatures);
}

/// Columns from a multiple of 16 on, of the features [from, to), into scratch.
void CpuEmitter::decodePanels(ContractOp op, const TileMemory &side, ColumnRange columns,
                              Value from, Value to) {
  OpBuilder::InsertionGuard guard(builder);
  Value column = loopBy(columns.from, columns.to, 16).getInductionVar();
  Place panel = nibblePanel(op, column);
  Value feature = loopBy(from, to, wordFeatures).getInductionVar();
  Place target = moved({mul(column, side.rows), 0}, mul(sub(feature, from), 16));
  for (int64_t lane = 0; lane < 16; lane += width) {
    Place place = moved(panel, Value(), lane);
    Value words = loadNibbles(op, place, feature, 0), scales = loadScales(op, place, feature);
    for (int64_t u = 0; u < wordFeatures; ++u)
      storeAt(decodedNibbles(words, scales, u), side.base, moved(target, Value(), u * 16 + lane),
              side.element);
  }
}
