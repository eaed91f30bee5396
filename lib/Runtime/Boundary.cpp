//===- Boundary.cpp - Copies between callers and planned memory ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between dense tensors and padded buffers. One template iterates over the groups; the
// element conversions are its parameters.
#include "Boundary.h"

#include "heddle/Support/Float.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace heddle {

/// All leading dimensions are flattened to rows. Vectors, indices and dense ports have no padding.
Expected<RowForm> rowForm(const Port &port, std::span<const int64_t> shape) {
  RowForm form;
  form.columns = shape.empty() ? 1 : shape.back();
  form.rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    form.rows *= shape[i];
  form.group = port.group ? port.group : form.columns;
  if (form.group != 0 && form.columns % form.group != 0)
    return deviceError(port.name + ": expected a multiple of " + std::to_string(form.group) +
                       " columns, found " + std::to_string(form.columns));
  bool index = port.type == DType::I32 || port.type == DType::I64;
  bool dense = port.dense || shape.size() < 2 || index;
  form.stored = dense ? form.group : padded(form.group);
  return form;
}

bool accepts(DType wanted, DType given) {
  if (wanted == given)
    return true;
  if (wanted == DType::I32)
    return given == DType::I64;
  return wanted == DType::F32 && given == DType::F16;
}

int64_t integerAt(const Tensor &tensor, int64_t index) {
  auto i = static_cast<size_t>(index);
  switch (tensor.dtype()) {
  case DType::I32:
    return tensor.values<int32_t>()[i];
  case DType::I64:
    return tensor.values<int64_t>()[i];
  default:
    return tensor.values<uint8_t>()[i];
  }
}

/// Calls body(dense index, memory index, count) for each contiguous piece, and pad(memory index,
/// count) for the padding after it.
template <typename Body, typename Pad>
static void forEachGroup(const RowForm &form, Body &&body, Pad &&pad) {
  if (form.group == 0)
    return;
  // Without padding the whole tensor is one piece.
  bool whole = form.stored == form.group;
  int64_t groups = whole ? 1 : form.rows * (form.columns / form.group);
  int64_t length = whole ? form.rows * form.columns : form.group;
  for (int64_t i = 0; i < groups; ++i) {
    body(i * form.group, i * form.stored, length);
    if (!whole)
      pad(i * form.stored + form.group, form.stored - form.group);
  }
}

/// Calls body(T, toWord, fromWord): T is the C++ type in callers' tensors, the functions convert to
/// and from the 4-byte word in planned memory.
template <typename Body>
static void withElements(DType type, Body &&body) {
  using Word = uint32_t;
  switch (type) {
  case DType::F32:
  case DType::I32:
    return body(Word(), [](Word v) { return v; }, [](Word v) { return v; });
  case DType::F16:
    return body(
        uint16_t(), [](uint16_t v) { return std::bit_cast<Word>(floatFromHalf(v)); },
        [](Word v) { return halfFromFloat(std::bit_cast<float>(v)); });
  case DType::BF16:
    return body(
        uint16_t(), [](uint16_t v) { return std::bit_cast<Word>(floatFromBFloat(v)); },
        [](Word v) { return bfloatFromFloat(std::bit_cast<float>(v)); });
  case DType::I64: // BoundInputs::check has rejected values that do not fit
    return body(
        int64_t(), [](int64_t v) { return static_cast<Word>(v); },
        [](Word v) { return static_cast<int32_t>(v); });
  case DType::Bool:
    return body(
        uint8_t(), [](uint8_t v) { return Word{v != 0}; },
        [](Word v) { return static_cast<uint8_t>(v != 0); });
  case DType::I8: // types of weights only
  case DType::I4:
  case DType::SI8:
  case DType::SI6:
    return;
  }
}

void packTensor(const Tensor &tensor, const RowForm &form, uint32_t *memory) {
  withElements(tensor.dtype(), [&]<typename T>(T, auto toWord, auto) {
    const T *from = tensor.values<T>().data();
    forEachGroup(
        form,
        [&](int64_t dense, int64_t stored, int64_t count) {
          for (int64_t i = 0; i < count; ++i)
            memory[stored + i] = toWord(from[dense + i]);
        },
        [&](int64_t stored, int64_t count) {
          std::memset(memory + stored, 0, static_cast<size_t>(count) * 4);
        });
  });
}

void unpackTensor(const uint32_t *memory, const RowForm &form, Tensor &tensor) {
  withElements(tensor.dtype(), [&]<typename T>(T, auto, auto fromWord) {
    T *to = tensor.values<T>().data();
    forEachGroup(
        form,
        [&](int64_t dense, int64_t stored, int64_t count) {
          for (int64_t i = 0; i < count; ++i)
            to[dense + i] = fromWord(memory[stored + i]);
        },
        [](int64_t, int64_t) {});
  });
}

void transposeFirstTwo(const Tensor &from, Tensor &to) {
  int64_t rows = from.dim(0), columns = from.dim(1);
  if (from.size() == 0)
    return;
  auto bytes = static_cast<size_t>(from.size() / (rows * columns) * byteSize(from.dtype()));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      std::memcpy(to.bytes().data() + static_cast<size_t>(column * rows + row) * bytes,
                  from.bytes().data() + static_cast<size_t>(row * columns + column) * bytes, bytes);
}

Tensor &TransposedTensor::shapedFor(DType type, std::span<const int64_t> shape) {
  transposed.assign(shape.begin(), shape.end());
  std::swap(transposed[0], transposed[1]);
  values.reset(type, transposed);
  return values;
}

const Tensor &TransposedTensor::of(const Tensor &tensor) {
  transposeFirstTwo(tensor, shapedFor(tensor.dtype(), tensor.shape()));
  return values;
}

} // namespace heddle
