//===- Program.cpp - What an artifact runs ---------------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names and sizes of element types, look-ups, and sizes of packed weights.
//
//===----------------------------------------------------------------------===//

#include "heddle/Support/Program.h"

namespace heddle {

namespace {

struct DTypeFacts {
  DType type;
  const char *name;
  int64_t bytes;
};

constexpr DTypeFacts dtypes[] = {{DType::F32, "f32", 4},   {DType::F16, "f16", 2},
                                 {DType::BF16, "bf16", 2}, {DType::I32, "i32", 4},
                                 {DType::I64, "i64", 8},   {DType::Bool, "bool", 1}};

const DTypeFacts &facts(DType type) {
  for (const DTypeFacts &entry : dtypes)
    if (entry.type == type)
      return entry;
  assert(false && "no such element type");
  return dtypes[0];
}

} // namespace

const char *toString(DType type) { return facts(type).name; }
int64_t byteSize(DType type) { return facts(type).bytes; }

Expected<DType> parseDType(std::string_view name) {
  for (const DTypeFacts &entry : dtypes)
    if (name == entry.name)
      return entry.type;
  return inputError("expected an element type (f32, f16, bf16, i32, i64, bool), found '" +
                    std::string(name) + "'");
}

const Function *Program::findFunction(std::string_view name) const {
  for (const Function &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

int64_t packedElements(const PackEntry &entry) {
  int64_t rows = entry.shape.empty() ? 1 : entry.shape.front();
  int64_t columns = 1; // all dimensions after the first: a 1x1 convolution is a matrix
  for (size_t i = 1; i < entry.shape.size(); ++i)
    columns *= entry.shape[i];
  switch (entry.layout) {
  case PackEntry::Layout::Vector:
    return paddedGroups(rows * columns, entry.rowGroup);
  case PackEntry::Layout::Rows:
    return rows * paddedGroups(columns, entry.columnGroup);
  case PackEntry::Layout::Panels:
    return paddedGroups(rows, entry.rowGroup) * paddedGroups(columns, entry.columnGroup);
  }
  return 0;
}

} // namespace heddle
