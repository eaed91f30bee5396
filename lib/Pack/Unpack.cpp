//===- Unpack.cpp - Weights as tensors --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places of a tensor's elements in its stored weight. Unpack and repack copy between them.

#include "heddle/Pack/Unpack.h"

#include "heddle/Support/Try.h"

namespace heddle {

namespace {

constexpr int64_t panelRows = 16;

/// Position of element n of a dimension whose groups of `group` elements are padded.
int64_t inGroups(int64_t n, int64_t group) {
  return group > 0 ? n / group * padded(group) + n % group : n;
}

/// Calls `visit(stored position, tensor position)` for each element of the tensor.
template <typename Visit>
void forEachElement(const PackEntry &entry, Visit visit) {
  const auto [rows, columns] = matrixOf(entry);
  if (entry.layout == PackEntry::Layout::Vector) {
    for (int64_t n = 0; n < rows * columns; ++n)
      visit(inGroups(n, entry.rowGroup), n);
    return;
  }
  const bool inPanels = entry.layout == PackEntry::Layout::Panels;
  const int64_t pitch = paddedGroups(columns, entry.columnGroup);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t r = inPanels ? inGroups(row, entry.rowGroup) : row,
                  start = inPanels ? r / panelRows * panelRows * pitch + r % panelRows : r * pitch;
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t c = inGroups(column, entry.columnGroup);
      visit(start + c * (inPanels ? panelRows : 1), row * columns + column);
    }
  }
}

Status checkFloats(const PackEntry &entry, size_t tensor, size_t stored) {
  if (entry.type != DType::F32 || entry.layout == PackEntry::Layout::Scales)
    return inputError(entry.tensor + ": expected a weight of f32, found " + toString(entry.type));
  if (static_cast<int64_t>(tensor) != tensorElements(entry) ||
      static_cast<int64_t>(stored) != packedElements(entry))
    return inputError(entry.tensor + ": expected " + std::to_string(tensorElements(entry)) +
                      " numbers and " + std::to_string(packedElements(entry)) +
                      " stored ones, found " + std::to_string(tensor) + " and " +
                      std::to_string(stored));
  return {};
}

} // namespace

int64_t tensorElements(const PackEntry &entry) {
  const auto [rows, columns] = matrixOf(entry);
  return rows * columns;
}

Status unpack(const PackEntry &entry, std::span<const float> stored, std::span<float> tensor) {
  HEDDLE_TRY(checkFloats(entry, tensor.size(), stored.size()));
  forEachElement(entry, [&](int64_t from, int64_t to) { tensor[to] = stored[from]; });
  return {};
}

Status repack(const PackEntry &entry, std::span<const float> tensor, std::span<float> stored) {
  HEDDLE_TRY(checkFloats(entry, tensor.size(), stored.size()));
  forEachElement(entry, [&](int64_t to, int64_t from) { stored[to] = tensor[from]; });
  return {};
}

} // namespace heddle
