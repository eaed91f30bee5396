//===- GpuMatrixGroups.cpp - Groups of i4 on matrix units -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements GpuMatrixGroups. An entry of the array of scales has both scales of a
// row or column. The array begins with a line for each group that has the scales of rows, in
// the order in which rows are staged. A line for each group with the scales of columns
// follows.
#include "GpuMatrixGroups.h"

#include "GpuLoops.h"

#include "heddle/Support/Formats.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::ContractGroupsOp;

namespace heddle {

/// Columns in a word of a panel's line of scales. The first half of the line holds the first kind
/// of scale, the second half the second kind.
static constexpr int64_t kInWord = 2;

GpuMatrixGroups::GpuMatrixGroups(GpuEmitter &emitter, GpuMatrixUnit &matrices, ContractGroupsOp op,
                                 Block part)
    : e(emitter), unit(matrices), rowView(emitter.view(op.getScales())),
      columnView(emitter.view(op.getRhs())), block(part) {}

//===- Staging ------------------------------------------------------------===//

/// A vec4 of a row holds both scales of two groups. A word of a panel holds one scale of two
/// columns.
void GpuMatrixGroups::place(function_ref<Value(Value)> startOfRow,
                            function_ref<Value(Value)> placeOfRow,
                            function_ref<Value(Value)> startOfPanel) {
  const int64_t together = kVec4 / kinds, vec4s = block.groups / together; // of a row
  shareOut(e, block.rows * vec4s, [&](Value number) {
    Value row = e.quotient(number, vec4s), vec4 = e.remainder(number, vec4s);
    Value line = e.mul(vec4, together * block.rows);
    rowSlots.push_back({startOfRow(row), vec4, {}, e.add(line, placeOfRow(row))});
  });
  constexpr int64_t words = kPanel / kInWord;
  shareOut(e, block.columns / kInWord * block.groups, [&](Value number) {
    Value word = e.remainder(number, words),
          group = e.remainder(e.quotient(number, words), block.groups),
          panel = e.quotient(number, words * block.groups);
    Value line = e.add(e.mul(group, block.columns), e.constant(block.groups * block.rows)),
          column = e.add(e.mul(panel, kPanel), e.mul(word, kInWord));
    columnSlots.push_back({e.add(startOfPanel(panel), e.quotient(word, kVec4)), group,
                           e.remainder(word, kVec4), e.add(line, column)});
  });
}

void GpuMatrixGroups::fetch(Value first, std::optional<int64_t> end,
                            SmallVectorImpl<Value> &loaded) {
  auto load = [&](Value pointer) { loaded.push_back(e.load(pointer)); };
  constexpr int64_t lines = formatOf(DType::I4).blockLines, inLine = kPanel / kVec4;
  const int64_t stored = padded(rowView.type.getDims().back().pitch.value) / kVec4;
  Value half = e.quotient(first, kVec4 / kinds);
  for (const Slot &slot : rowSlots) {
    Value vec4 = e.add(e.add(slot.start, slot.number), half);
    if (end)
      vec4 = e.add(slot.start, e.minimum(e.add(slot.number, half), e.constant(stored - 1)));
    load(e.entry.vec4(rowView.argument, vec4));
  }
  for (const Slot &slot : columnSlots) {
    auto placeOf = [&](Value group) { return e.mul(group, lines * inLine); };
    Value start = e.add(slot.start, e.constant((lines - 1) * inLine));
    Value vec4 = e.add(e.add(start, placeOf(slot.number)), placeOf(first));
    if (end)
      vec4 = e.add(start, placeOf(e.minimum(e.add(first, slot.number), e.constant(*end - 1))));
    for (int64_t kind = 0; kind < kinds; ++kind)
      load(e.entry.lane(columnView.argument, e.add(vec4, e.constant(kind * inLine / kinds)),
                        slot.lane));
  }
}

VectorType GpuMatrixGroups::scaleType() { return VectorType::get({kinds}, e.builder.getF32Type()); }

void GpuMatrixGroups::write(Value place, Value first, Value second) {
  Value both = e.vectorOf({first, second});
  e.workgroup.write(SharedArray::Scales, scaleType(), entries(), place, both);
}

std::pair<Value, Value> GpuMatrixGroups::read(Value place) {
  Value both = e.workgroup.read(SharedArray::Scales, scaleType(), entries(), place);
  return {e.extract(both, 0), e.extract(both, 1)};
}

void GpuMatrixGroups::store(ArrayRef<Value> loaded) {
  for (auto [slot, vec4] : llvm::zip(rowSlots, loaded))
    for (int64_t group = 0; group < kVec4 / kinds; ++group) {
      Value first = e.extract(vec4, group * kinds), second = e.extract(vec4, group * kinds + 1);
      write(e.add(slot.place, e.constant(group * block.rows)), first, second);
    }
  loaded = loaded.drop_front(rowSlots.size());
  for (const Slot &slot : columnSlots) {
    auto [d, nextD] = e.words.unpack(e.asWords(loaded[0]), e.builder.getF16Type());
    auto [m, nextM] = e.words.unpack(e.asWords(loaded[1]), e.builder.getF16Type());
    write(slot.place, d, m);
    write(e.add(slot.place, e.constant(1)), nextD, nextM);
    loaded = loaded.drop_front(kinds);
  }
}

//===- Elements -----------------------------------------------------------===//

/// Writes the numbers 0, 1, 2, … to workgroup memory, and loads them as every column and as every
/// row of a matrix.
void GpuMatrixGroups::number(Value row, Value column) {
  firstRow = row;
  firstColumn = column;
  const GpuMatrixUnit::Type type = unit.floats();
  const int64_t most = std::max<int64_t>(type.getRows(), type.getColumns());
  Value mine = e.remainder(e.number, most);
  auto at = [&](Value place, Value lane = {}) {
    return e.entry.shared(SharedArray::Lanes, e.vec4Type(), most / kVec4, place, lane);
  };
  Value lane = e.masked(mine, kVec4 - 1);
  e.store(at(e.memory.quarter(mine), lane),
          arith::SIToFPOp::create(e.builder, e.loc, e.builder.getF32Type(), mine));
  e.workgroup.barrier();
  auto load = [&](GpuMatrixUnit::Layout layout) {
    Value numbers = unit.load(type, at(e.constant(0)), /*stride=*/0, layout);
    Value variable = unit.variable(type);
    e.store(variable, numbers);
    return variable;
  };
  rowNumbers = load(GpuMatrixUnit::Layout::ColumnMajor);
  columnNumbers = load(GpuMatrixUnit::Layout::RowMajor);
  products = unit.variable(type);
}

Value GpuMatrixGroups::elementOf(Value variable, Value number) {
  return spirv::AccessChainOp::create(e.builder, e.loc, variable, ValueRange{number});
}

Value GpuMatrixGroups::valueOf(Value variable, Value number) {
  return e.load(elementOf(variable, number));
}

/// Returns the row or column of an element.
Value GpuMatrixGroups::placeOf(Value numbers, Value first, Value number) {
  Value inside =
      arith::FPToSIOp::create(e.builder, e.loc, e.builder.getI32Type(), valueOf(numbers, number));
  return e.add(inside, first);
}

/// The driver knows the number of elements of an invocation when it compiles the loop.
void GpuMatrixGroups::add(Place place, Value integers, Value sums) {
  const GpuMatrixUnit::Type type = unit.floats();
  e.store(products, spirv::ConvertSToFOp::create(e.builder, e.loc, type, integers));
  Value length = spirv::KHRCooperativeMatrixLengthOp::create(
      e.builder, e.loc, e.builder.getI32Type(), TypeAttr::get(type));
  Value rowLine = e.add(e.mul(place.group, block.rows), e.constant(place.row)),
        columnLine = e.add(e.mul(place.group, block.columns),
                           e.constant(block.groups * block.rows + place.column));
  SmallVector<Value> none;
  e.loopOver(e.constant(0), length, 1, none, [&](Value number) {
    e.markLoop(kUnrolled);
    Value row = placeOf(rowNumbers, firstRow, number),
          column = placeOf(columnNumbers, firstColumn, number);
    auto [scale, sum] = read(e.add(row, rowLine));
    auto [d, m] = read(e.add(column, columnLine));
    Value factor = e.mulf(scale, d);
    Value chain = e.fma(valueOf(products, number), factor, valueOf(sums, number));
    chain = e.fma(sum, m, chain);
    e.store(elementOf(sums, number), chain);
  });
}

} // namespace heddle
