//===- Program.cpp - The program of an artifact ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of element types, lookup of functions, and sizes of packed weights.

#include "heddle/Support/Program.h"

namespace heddle {

std::string shapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

const Function *Program::findFunction(std::string_view name) const {
  for (const Function &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

std::pair<int64_t, int64_t> matrixOf(const PackEntry &entry) {
  int64_t elements = 1;
  for (int64_t size : entry.shape)
    elements *= size;
  int64_t rows = entry.rows > 0 ? entry.rows : entry.shape.empty() ? 1 : entry.shape.front();
  return {rows, rows > 0 ? elements / rows : 0};
}

int64_t packedElements(const PackEntry &entry) {
  auto [rows, columns] = matrixOf(entry);
  switch (entry.layout) {
  case PackEntry::Layout::Vector:
    return paddedGroups(rows * columns, entry.rowGroup);
  case PackEntry::Layout::Rows:
    return rows * paddedGroups(columns, entry.columnGroup);
  case PackEntry::Layout::Scales:
    return 2 * paddedGroups(rows, entry.rowGroup);
  case PackEntry::Layout::Panels:
    return paddedGroups(rows, entry.rowGroup) / 16 *
           panelBytes(entry.type, paddedGroups(columns, entry.columnGroup)) / 4;
  }
  return 0;
}

} // namespace heddle
