//===- Formats.cpp - Number formats ----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and look-ups of rows.

#include "heddle/Support/Formats.h"

#include <algorithm>

namespace heddle {

/// `formatOf` counts on the order of the types.
static_assert([] {
  size_t next = 0;
  return std::ranges::all_of(format_rows::elements, [&](const ElementFormat &row) {
    return static_cast<size_t>(row.type) == next++;
  });
}());

const char *toString(DType type) { return wordOf(type).c_str(); }

/// The first row that fits, else `none`.
template <typename Predicate>
static const NumberFormat *firstOf(Predicate fits, const NumberFormat *none = nullptr) {
  auto found = std::ranges::find_if(numberFormats, fits);
  return found == std::end(numberFormats) ? none : found;
}

const NumberFormat *findFormat(std::string_view name) {
  return firstOf([&](const NumberFormat &row) { return row.name == name; });
}
const NumberFormat *findProduct(DType rows, DType weights) {
  return firstOf([&](auto &row) { return row.rows == rows && row.weights == weights; });
}
const NumberFormat &formatOfWeights(DType type) {
  return *firstOf([&](const NumberFormat &row) { return row.weights == type; }, numberFormats);
}
const NumberFormat &formatOfRows(DType type) {
  return *firstOf([&](const NumberFormat &row) { return row.rows == type; }, numberFormats);
}

std::string formatNames(std::string_view last) {
  std::string text;
  for (const NumberFormat &row : numberFormats) {
    if (&row != numberFormats)
      text += &row == std::end(numberFormats) - 1 ? last : ", ";
    text += row.name;
  }
  return text;
}

} // namespace heddle
