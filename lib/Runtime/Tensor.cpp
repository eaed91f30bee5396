//===- Tensor.cpp - Dense tensors of the caller -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes, storage and the one-line description of tensors that `run` prints.
#include "heddle/Runtime/Tensor.h"

#include "heddle/Support/Float.h"
#include "heddle/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace heddle {

Expected<int64_t> elementCount(std::span<const int64_t> shape, DType type) {
  constexpr int64_t limit = int64_t{1} << 62;
  int64_t count = 1;
  // Check for an empty tensor first: [0, 2^60, 2^60] is empty, not too large.
  bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (int64_t dim : shape) {
    if (dim < 0)
      return inputError("expected dimensions of at least 0, found " + shapeText(shape));
    if (!empty && count > limit / byteSize(type) / dim)
      return inputError("expected a tensor of less than 2^62 bytes, found shape " +
                        shapeText(shape));
    count *= empty ? 0 : dim;
  }
  return count;
}

Tensor::Tensor(DType type, std::vector<int64_t> shape) : type(type), dims(std::move(shape)) {
  Expected<int64_t> number = elementCount(dims, type);
  count = *number;
  data.resize(static_cast<size_t>(byteCount()));
}

Expected<Tensor> Tensor::borrow(DType type, std::vector<int64_t> shape,
                                std::span<std::byte> memory) {
  Expected<int64_t> number = elementCount(shape, type);
  if (!number)
    return number.takeError();
  const int64_t size = byteSize(type);
  if (std::ssize(memory) < *number * size)
    return inputError("expected memory of at least " + std::to_string(*number * size) +
                      " bytes for a tensor of shape " + shapeText(shape) + ", found " +
                      std::to_string(memory.size()));
  if (reinterpret_cast<uintptr_t>(memory.data()) % static_cast<uintptr_t>(size) != 0)
    return inputError("expected memory aligned to " + std::to_string(size) +
                      " bytes for elements of " + toString(type) + ", found other memory");
  Tensor tensor;
  tensor.type = type;
  tensor.dims = std::move(shape);
  tensor.count = *number;
  tensor.borrowed = memory;
  return tensor;
}

void Tensor::reset(DType newType, std::span<const int64_t> newShape) {
  Expected<int64_t> number = elementCount(newShape, newType);
  type = newType;
  dims.assign(newShape.begin(), newShape.end());
  count = *number;
  if (isBorrowed() && std::ssize(borrowed) >= byteCount())
    return;
  borrowed = {};
  data.resize(static_cast<size_t>(byteCount()));
}

const Tensor *NamedTensors::find(std::string_view name) const {
  auto it = std::ranges::find(entries, name, &Entry::first);
  return it == entries.end() ? nullptr : &it->second;
}

Expected<const Tensor *> NamedTensors::get(std::string_view name) const {
  if (const Tensor *tensor = find(name))
    return tensor;
  return inputError("expected one of the tensors " +
                    listText(entries, [](const Entry &entry) { return entry.first; }) + ", found " +
                    quotedText(name));
}

const Tensor &NamedTensors::operator[](std::string_view name) const {
  if (const Tensor *tensor = find(name))
    return *tensor;
  misused("one of the tensors " + listText(entries, [](const Entry &entry) { return entry.first; }),
          quotedText(name));
}

Tensor &NamedTensors::operator[](std::string_view name) {
  return const_cast<Tensor &>(std::as_const(*this)[name]);
}

void NamedTensors::set(std::string_view name, Tensor tensor) {
  (find(name) ? (*this)[name] : slot(size(), name)) = std::move(tensor);
}

Tensor &NamedTensors::slot(size_t index, std::string_view name) {
  if (entries.size() <= index)
    entries.resize(index + 1);
  if (entries[index].first != name)
    entries[index].first = name;
  return entries[index].second;
}

static std::string elementText(const Tensor &tensor, size_t i) {
  switch (tensor.dtype()) {
  case DType::F32:
    return std::isnan(tensor.values<float>()[i]) ? "nan" // printf would print its sign
                                                 : formatted("%.7g", tensor.values<float>()[i]);
  case DType::F16:
    return formatted("%.4g", floatFromHalf(tensor.values<uint16_t>()[i]));
  case DType::BF16:
    return formatted("%.3g", floatFromBFloat(tensor.values<uint16_t>()[i]));
  case DType::I32:
    return std::to_string(tensor.values<int32_t>()[i]);
  case DType::I64:
    return std::to_string(tensor.values<int64_t>()[i]);
  case DType::Bool:
    return tensor.values<uint8_t>()[i] ? "true" : "false";
  case DType::I8: // types of weights only
  case DType::I4:
  case DType::SI8:
  case DType::SI6:
    break;
  }
  return "";
}

std::string describe(const Tensor &tensor) {
  constexpr int64_t shown = 8;
  std::string text = std::string(toString(tensor.dtype())) + " " + shapeText(tensor.shape());
  for (int64_t i = 0; i < std::min(tensor.size(), shown); ++i)
    text += " " + elementText(tensor, static_cast<size_t>(i));
  return tensor.size() > shown ? text + " …" : text;
}

} // namespace heddle
