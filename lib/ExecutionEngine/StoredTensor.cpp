//===- StoredTensor.cpp - Tensors out of planned memory -------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Index arithmetic of rows, groups and panels, written from the storage rules of
// Support/Program.h and not from the code that packs: it is a witness.
//
//===----------------------------------------------------------------------===//

#include "StoredTensor.h"

#include <cstring>

namespace heddle {

namespace {

/// Where element n lies when every `group` elements are padded to a multiple of 16.
int64_t inGroups(int64_t n, int64_t group) {
  return group ? n / group * padded(group) + n % group : n;
}

/// Size of a dimension of n elements in storage.
int64_t storedSize(int64_t n, int64_t group) {
  return group ? n / group * padded(group) : padded(n);
}

int64_t packedIndex(const PackEntry &entry, int64_t row, int64_t column) {
  int64_t pitch = storedSize(entry.shape.back(), entry.columnGroup);
  int64_t r = inGroups(row, entry.rowGroup), c = inGroups(column, entry.columnGroup);
  switch (entry.layout) {
  case PackEntry::Layout::Vector:
    return inGroups(column, entry.rowGroup);
  case PackEntry::Layout::Rows:
    return r * pitch + c;
  case PackEntry::Layout::Panels:
    return r / 16 * 16 * pitch + c * 16 + r % 16;
  }
  return 0;
}

} // namespace

int64_t storedIndex(const StoredLayout &layout, int64_t row, int64_t column) {
  int64_t c = inGroups(column, layout.group);
  if (layout.dims.size() < 2)
    return c;
  int64_t perMatrix = layout.dims[layout.dims.size() - 2];
  int64_t matrix = perMatrix ? row / perMatrix : 0,
          r = layout.first + (perMatrix ? row % perMatrix : 0);
  int64_t start = matrix * layout.rows * layout.pitch;
  return layout.panel ? start + r / 16 * 16 * layout.pitch + c * 16 + r % 16
                      : start + r * layout.pitch + c;
}

std::vector<float> unpackTensor(const Program &program, const PackEntry &entry,
                                std::span<const std::byte> weights) {
  const std::byte *start =
      weights.data() + program.weights[static_cast<size_t>(entry.weight)].offset;
  int64_t columns = entry.shape.back(), rows = 1;
  for (size_t i = 0; i + 1 < entry.shape.size(); ++i)
    rows *= entry.shape[i];
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      std::memcpy(&values[static_cast<size_t>(row * columns + column)],
                  start + packedIndex(entry, row, column) * 4, 4);
  return values;
}

} // namespace heddle
