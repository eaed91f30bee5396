//===- StoredTensor.cpp - Decoding of stored tensors ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index arithmetic of rows, groups and panels. It follows the storage rules of Support/Program.h
// and is independent of the packing code, which it verifies.

#include "StoredTensor.h"

#include "ReferenceOps.h"
#include "heddle/Support/Float.h"

#include <cstring>

namespace heddle {

namespace {

/// Stored position of element n if groups of `group` elements are padded to a multiple of 16.
int64_t inGroups(int64_t n, int64_t group) {
  return group ? n / group * padded(group) + n % group : n;
}

/// Stored size of a dimension of n elements.
int64_t storedSize(int64_t n, int64_t group) {
  return group ? n / group * padded(group) : padded(n);
}

/// Position in panels of 16 rows. A word of narrow elements holds adjacent columns of a row.
int64_t inPanels(DType type, int64_t row, int64_t column, int64_t pitch) {
  int64_t start = row / 16 * 16 * pitch, word = formatOf(type).perWord;
  return start + (column / word * 16 + row % 16) * word + column % word;
}

/// Position of an element in the entry's stored matrix of `columns` columns.
int64_t packedIndex(const PackEntry &entry, int64_t columns, int64_t row, int64_t column) {
  int64_t pitch = storedSize(columns, entry.columnGroup);
  int64_t r = inGroups(row, entry.rowGroup), c = inGroups(column, entry.columnGroup);
  switch (entry.layout) {
  case PackEntry::Layout::Vector:
    return inGroups(column, entry.rowGroup);
  case PackEntry::Layout::Rows:
    return r * pitch + c;
  case PackEntry::Layout::Panels:
    return inPanels(entry.type, r, c, pitch);
  case PackEntry::Layout::Scales: // scale of row `row`
    return r;
  }
  return 0;
}

/// Scale of a row of codes, from the program's entry of scales for the same tensor.
float scaleOf(const Program &program, const PackEntry &codes, int64_t row,
              std::span<const std::byte> weights) {
  for (const PackEntry &entry : program.pack)
    if (entry.layout == PackEntry::Layout::Scales && entry.tensor == codes.tensor) {
      int64_t offset = program.weights[static_cast<size_t>(entry.weight)].offset;
      return storedValue(DType::F32, weights.data() + offset, packedIndex(entry, 0, row, 0));
    }
  return 1;
}

} // namespace

int64_t sequenceOf(const StoredLayout &layout, int64_t row) {
  int64_t perSequence = 1;
  for (size_t d = 1; d + 1 < layout.dims.size(); ++d)
    perSequence *= layout.dims[d];
  return perSequence ? row / perSequence : 0;
}

int64_t storedIndex(const StoredLayout &layout, int64_t row, int64_t column) {
  int64_t c = inGroups(column, layout.group);
  if (layout.dims.size() < 2)
    return c;
  int64_t perMatrix = layout.dims[layout.dims.size() - 2];
  int64_t matrix = perMatrix ? row / perMatrix : 0,
          first = layout.firsts.empty()
                      ? layout.first
                      : layout.firsts[static_cast<size_t>(sequenceOf(layout, row))],
          r = first + (perMatrix ? row % perMatrix : 0);
  int64_t start = matrix * layout.rows * layout.pitch;
  return start + (layout.panel ? inPanels(layout.type, r, c, layout.pitch) : r * layout.pitch + c);
}

float storedValue(DType type, const std::byte *memory, int64_t index, int64_t codeBase) {
  if (formatOf(type).bits == 16) {
    uint16_t bits;
    std::memcpy(&bits, memory + index * 2, 2);
    return type == DType::BF16 ? floatFromBFloat(bits) : floatFromHalf(bits);
  }
  if (type == DType::I8)
    return static_cast<int8_t>(std::to_integer<int64_t>(memory[index]) - codeBase);
  float value;
  std::memcpy(&value, memory + index * 4, 4);
  return value;
}

std::vector<float> unpackTensor(const Program &program, const PackEntry &entry,
                                std::span<const std::byte> weights) {
  const std::byte *start =
      weights.data() + program.weights[static_cast<size_t>(entry.weight)].offset;
  auto [rows, columns] = matrixOf(entry);
  if (entry.layout == PackEntry::Layout::Vector) {
    columns *= rows;
    rows = 1;
  }
  std::vector<float> values;
  values.reserve(static_cast<size_t>(rows * columns));
  for (int64_t row = 0; row < rows; ++row) {
    float scale = entry.type == DType::I8 ? scaleOf(program, entry, row, weights) : 1;
    for (int64_t column = 0; column < columns; ++column) {
      if (formatOf(entry.type).holdsScales()) {
        int64_t r = inGroups(row, entry.rowGroup);
        values.push_back(reference::unpackedCode(entry.type, start, columns, r, column));
        continue;
      }
      int64_t index = packedIndex(entry, columns, row, column);
      values.push_back(scale * storedValue(entry.type, start, index));
    }
  }
  return values;
}

} // namespace heddle
