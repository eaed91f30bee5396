//===- Program.cpp - What an artifact runs ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and sizes of element types, look-ups, and sizes of packed weights.

#include "heddle/Support/Program.h"

#include <cassert>

namespace heddle {

const char *toString(DType type) { return wordOf(type).c_str(); }

Expected<DType> parseDType(std::string_view text) {
  DType type;
  if (parseWord(text, type))
    return type;
  return inputError("expected an element type (f32, f16, bf16, i32, i64, bool), found " +
                    quotedText(text));
}

std::string shapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

int64_t byteSize(DType type) {
  switch (type) {
  case DType::Bool:
  case DType::I8:
    return 1;
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::I64:
    return 8;
  case DType::I4:
    break;
  }
  assert(false && "codes of four bits have no size of their own");
  return 0;
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
    if (entry.type == DType::I4)
      return paddedGroups(rows, entry.rowGroup) / 16 * nibblePanelBytes(columns) / 4;
    return paddedGroups(rows, entry.rowGroup) * paddedGroups(columns, entry.columnGroup) *
           byteSize(entry.type) / 4;
  }
  return 0;
}

} // namespace heddle
