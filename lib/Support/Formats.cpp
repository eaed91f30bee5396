//===- Formats.cpp - Number formats ----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of formats and lookup of rows.

#include "heddle/Support/Formats.h"

#include <algorithm>

namespace heddle {

/// `formatOf` relies on the order of the types.
static_assert([] {
  size_t next = 0;
  return std::ranges::all_of(format_rows::elements, [&](const ElementFormat &row) {
    return static_cast<size_t>(row.type) == next++;
  });
}());

const char *toString(DType type) { return wordOf(type).c_str(); }

/// The first row that fits, or else `none`.
template <typename Predicate>
static const NumberFormat *firstOf(Predicate fits, const NumberFormat *none = nullptr) {
  auto found = std::ranges::find_if(numberFormats, fits);
  return found == std::end(numberFormats) ? none : found;
}

const NumberFormat *findFormat(std::string_view name) {
  return firstOf([&](const NumberFormat &row) { return row.name == name && !name.empty(); });
}
int64_t scaleGroupOf(int64_t features, int64_t scales) {
  const NumberFormat *found = firstOf([&](const NumberFormat &row) {
    return row.rows == DType::I8 && row.rowScales(features) == scales;
  });
  return found ? found->scaleGroup : wholeRow;
}
const NumberFormat *findProduct(DType rows, DType weights) {
  return firstOf([&](auto &row) { return row.rows == rows && row.weights == weights; });
}
const NumberFormat *findKeptProduct(DType rows, DType kept) {
  if (const NumberFormat *known = findProduct(rows, kept))
    return known;
  bool isKept = std::ranges::find(keptTypes, kept) != std::end(keptTypes);
  return isKept && (rows == DType::F32 || rows == DType::BF16) ? findProduct(rows, rows) : nullptr;
}

/// Name of a cached type; codes have the name of their `--dtype`.
static std::string_view keptName(DType type) {
  return formatOf(type).isCode() ? formatOfRows(type).name : std::string_view(toString(type));
}
std::optional<DType> findKeptType(std::string_view name) {
  const auto *found = std::ranges::find(keptTypes, name, keptName);
  return found == std::end(keptTypes) ? std::nullopt : std::optional(*found);
}

const NumberFormat &formatOfWeights(DType type) {
  return *firstOf([&](const NumberFormat &row) { return row.weights == type; }, numberFormats);
}
const NumberFormat &formatOfRows(DType type) {
  return *firstOf([&](const NumberFormat &row) { return row.rows == type; }, numberFormats);
}

/// List of the names that `name` returns for the rows.
template <typename Rows, typename Name>
static std::string listOf(const Rows &rows, std::string_view last, Name name) {
  std::string text;
  for (const auto &row : rows) {
    if (name(row).empty())
      continue;
    if (&row != std::begin(rows))
      text += &row == std::end(rows) - 1 ? last : ", ";
    text += name(row);
  }
  return text;
}

std::string formatNames(std::string_view last) {
  return listOf(numberFormats, last, [](const NumberFormat &row) { return row.name; });
}
std::string keptTypeNames(std::string_view last) { return listOf(keptTypes, last, keptName); }

} // namespace heddle
