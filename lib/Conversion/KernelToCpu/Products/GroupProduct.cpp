//===- GroupProduct.cpp - Products of codes in groups ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop over groups, and the scales of rows and columns.

#include "GroupProduct.h"

#include "heddle/Dialect/ElementFormats.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

GroupProduct::GroupProduct(CpuEmitter &emitter, ProductOpInterface op)
    : CpuProduct(emitter, op), format(formatOf(op.getFormat().weights)) {
  assert(format.group == format.blockColumns && "a block has the scales of one group");
}

Registers GroupProduct::sumFeatures(Chain chain, Registers sums, Value first, Value last) {
  assert((!e.isBlocked(*op) || e.plan.getBlock() % format.group == 0) &&
         "k-blocks are whole sums of the format");
  fetchMeanwhile(chain, first, last);
  std::optional<int64_t> count = e.constantOf(e.sub(chain.to, chain.from));
  assert(count && "rows of products have a static number of features, and so have k-blocks");
  const Sides sides{chain.shape, leftRows(chain.shape), rowsOf(scales(), chain.shape),
                    columnPlaces(chain.shape)};
  const int64_t perWord = formatOf(DType::I8).perWord, whole = *count / format.group,
                rest = *count % format.group;
  Value start = builder.createOrFold<arith::DivUIOp>(loc, first ? first : e.constant(0),
                                                     e.constant(groupLines()));
  if (whole)
    e.loopOver(start, e.add(start, e.constant(whole)), 1, sums, [&](Value group) {
      chain.atStep(e.mul(group, groupLines()));
      addGroup(sides, group, format.group / perWord, sums);
    });
  if (rest)
    addGroup(sides, e.add(start, e.constant(whole)), (rest + perWord - 1) / perWord, sums);
  return sums;
}

SmallVector<Address> GroupProduct::columnPlaces(const Fragment &shape) {
  const int64_t columns = CpuEmitter::columnsOf(op.getType()),
                panel = panelBytes(format.type, features()) / 4;
  Value first = e.add(e.scalar(op.getRhsIndex()), e.columnBase(columns));
  Value number = first ? builder.createOrFold<arith::DivUIOp>(loc, first, e.constant(16)) : Value();
  SmallVector<Address> places;
  for (int64_t j = 0; j < shape.vectors; ++j) {
    const int64_t column = e.vectorColumn(j, columns);
    places.push_back({e.mul(number, panel), column / 16 * panel + column % 16});
  }
  return places;
}

/// Adds the products of a group that has `words` words of four features per row.
void GroupProduct::addGroup(const Sides &sides, Value group, int64_t words, Registers &sums) {
  const int64_t rows = sides.shape.rows, vectors = sides.shape.vectors;
  fetchAhead(sides.columns, group);
  Registers parts = sumsOfGroup(sides, group, words);
  const SmallVector<Scales> columns = columnScales(sides.columns, group);
  for (int64_t row = 0; row < rows; ++row) {
    const Scales ofRow = rowScales(sides.scales[row], group);
    for (int64_t j = 0; j < vectors; ++j) {
      Value &sum = sums[row * vectors + j];
      sum = addPart(asWords(parts[row * vectors + j]), ofRow, columns[j], sum);
    }
  }
}

Value GroupProduct::addPart(Value part, const Scales &row, const Scales &columns, Value sum) {
  part = arith::SIToFPOp::create(builder, loc, sum.getType(), part);
  Value factor = arith::MulFOp::create(builder, loc, row.scale, columns.scale);
  sum = multiplyAdd(part, factor, sum, /*guarded=*/false);
  return multiplyAdd(row.offset, columns.offset, sum, /*guarded=*/false);
}

void GroupProduct::fetchAhead(ArrayRef<Address> columns, Value group) {
  constexpr int64_t ahead = 6 << 10; // bytes
  if (!e.plan.getAhead())
    return;
  for (const Address &column : columns)
    for (int64_t line = 0; column.constant % lineWords == 0 && line < format.blockLines; ++line)
      e.fetch(e.pointers[right().argument],
              e.moved(column, e.mul(group, blockWords()), line * lineWords + ahead / 4),
              builder.getI32Type());
}

Value GroupProduct::lineAt(Address column, Value group, int64_t line) {
  return e.loadAt(e.pointers[right().argument],
                  e.moved(column, e.mul(group, blockWords()), line * lineWords),
                  VectorType::get({width}, builder.getI32Type()), builder.getI32Type());
}

/// f16 values of the group's last line as f32, starting at value `first`.
Value GroupProduct::halvesAt(Address column, Value group, int64_t first) {
  // Counted in halves of words; a register begins at a column of its panel.
  const int64_t inPanel = column.constant % lineWords;
  Address place{e.mul(column.dynamic, 2), 2 * (column.constant - inPanel) + inPanel};
  place = e.moved(place, e.mul(group, 2 * blockWords()), 2 * groupLines() * lineWords + first);
  Type half = builder.getI16Type();
  return e.widened(
      e.loadAt(e.pointers[right().argument], place, VectorType::get({width}, half), half));
}

Value GroupProduct::rowWord(Address row, Value group, int64_t word) {
  Value value = e.loadWord(left(), e.moved(row, e.mul(group, format.group), word * 4));
  return e.splat(value, VectorType::get({width}, value.getType()));
}

SmallVector<GroupProduct::Scales> GroupProduct::columnScales(ArrayRef<Address> columns,
                                                             Value group) {
  SmallVector<Scales> scales;
  for (const Address &column : columns)
    scales.push_back({halvesAt(column, group, 0), halvesAt(column, group, lineWords)});
  return scales;
}

GroupProduct::Scales GroupProduct::rowScales(Address row, Value group) {
  return {rowScale(row, group, 0), rowScale(row, group, 1)};
}

Value GroupProduct::rowScale(Address row, Value group, int64_t number) {
  Value value = e.loadScalars(scales(), e.moved(row, e.mul(group, 2), number), 1).front();
  return e.splat(value, VectorType::get({width}, value.getType()));
}
