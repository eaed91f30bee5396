//===- Tensor.h - Dense tensors of the caller ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs and outputs of a session: a type, a shape and dense bytes in row-major order, which the
// tensor owns or borrows. The padded forms of planned memory never reach a caller; the session
// copies at the boundary.
#pragma once

#include "heddle/Support/Program.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

/// Number of elements of a shape. Error if a dimension is negative or the tensor would exceed 2^62
/// bytes.
Expected<int64_t> elementCount(std::span<const int64_t> shape, DType type);

/// A dense tensor. It owns its memory unless `borrow` made it. A default tensor is f32 of shape
/// [0].
class Tensor {
public:
  Tensor() = default;
  /// A tensor of zeros. Aborts the process if elementCount refuses the shape.
  Tensor(DType type, std::vector<int64_t> shape);

  /// A tensor that holds `values`, one for each element of the shape; another number of values
  /// aborts the process. T is float, int32_t, int64_t, bool or uint16_t (F16 bits). Where the shape
  /// comes from data, compare it by elementCount first, or borrow the values.
  template <typename T>
  static Tensor of(std::vector<int64_t> shape, std::span<const T> values);
  static Tensor f32(std::vector<int64_t> shape, std::span<const float> values) {
    return of(std::move(shape), values);
  }
  static Tensor i32(std::vector<int64_t> shape, std::span<const int32_t> values) {
    return of(std::move(shape), values);
  }
  /// A tensor over memory of the caller, which must outlive the tensor and its copies. As an output
  /// of `Session::run`, it receives the result without a further copy. Input error for a shape that
  /// elementCount refuses, and for memory that is smaller than the shape or not aligned to the
  /// element's size.
  static Expected<Tensor> borrow(DType type, std::vector<int64_t> shape,
                                 std::span<std::byte> memory);

  DType dtype() const { return type; }
  const std::vector<int64_t> &shape() const { return dims; }
  int64_t dim(size_t i) const { return dims[i]; }
  size_t rank() const { return dims.size(); }
  int64_t size() const { return count; }

  std::span<std::byte> bytes() {
    return isBorrowed() ? borrowed.first(static_cast<size_t>(byteCount())) : std::span(data);
  }
  std::span<const std::byte> bytes() const { return const_cast<Tensor *>(this)->bytes(); }
  bool isBorrowed() const { return borrowed.data() != nullptr; }

  /// The elements. T must be the C++ type of dtype(); a T of another size aborts the process.
  template <typename T>
  std::span<T> values() {
    checkElement(sizeof(T));
    return {reinterpret_cast<T *>(bytes().data()), static_cast<size_t>(count)};
  }
  template <typename T>
  std::span<const T> values() const {
    checkElement(sizeof(T));
    return {reinterpret_cast<const T *>(bytes().data()), static_cast<size_t>(count)};
  }

  /// Changes type and shape. Contents become unspecified; memory that is large enough is kept. A
  /// borrowed tensor whose memory is too small for the new shape gets memory of its own.
  void reset(DType newType, std::span<const int64_t> newShape);

private:
  void checkElement(size_t bytes) const {
    if (static_cast<int64_t>(bytes) != byteSize(type))
      misused("the element type of a tensor", toString(type));
  }

  DType type = DType::F32;
  std::vector<int64_t> dims = {0};
  int64_t count = 0;
  int64_t byteCount() const { return count * byteSize(type); }

  std::vector<std::byte> data;
  std::span<std::byte> borrowed; ///< memory of the caller, as large as it is; null: `data`
};

/// Results by name, in the order of the function's outputs.
class NamedTensors {
public:
  using Entry = std::pair<std::string, Tensor>;

  /// The tensor with this name, or null.
  const Tensor *find(std::string_view name) const;
  /// The tensor with this name, or an error that lists the names.
  Expected<const Tensor *> get(std::string_view name) const;
  /// The elements of the tensor with this name, or an error if the name is unknown or the elements
  /// are of another type. uint16_t reads both f16 and bf16.
  template <typename T>
  Expected<std::span<const T>> values(std::string_view name) const;
  /// The tensor with this name. An unknown name aborts the process with a message; see get().
  const Tensor &operator[](std::string_view name) const;
  Tensor &operator[](std::string_view name);

  /// Replaces the tensor with this name, or appends it.
  void set(std::string_view name, Tensor tensor);

  /// The entry at `index`, appended if needed, under a new name; its memory is kept.
  Tensor &slot(size_t index, std::string_view name);
  void resize(size_t count) { entries.resize(count); }

  size_t size() const { return entries.size(); }
  auto begin() const { return entries.begin(); }
  auto end() const { return entries.end(); }
  auto begin() { return entries.begin(); }
  auto end() { return entries.end(); }

private:
  std::vector<Entry> entries;
};

/// Type, shape and the first 8 values of a tensor on one line: "f32 [2, 3] 0.5 1 …".
std::string describe(const Tensor &tensor);

namespace detail {
template <typename T>
inline constexpr DType dtypeOf = [] {
  static_assert(sizeof(T) == 0, "no tensor has elements of this type");
  return DType::F32;
}();
template <>
inline constexpr DType dtypeOf<float> = DType::F32;
template <>
inline constexpr DType dtypeOf<int32_t> = DType::I32;
template <>
inline constexpr DType dtypeOf<int64_t> = DType::I64;
template <>
inline constexpr DType dtypeOf<bool> = DType::Bool;
template <>
inline constexpr DType dtypeOf<uint16_t> = DType::F16;
} // namespace detail

template <typename T>
Expected<std::span<const T>> NamedTensors::values(std::string_view name) const {
  Expected<const Tensor *> tensor = get(name);
  if (!tensor)
    return tensor.takeError();
  constexpr DType wanted = detail::dtypeOf<T>;
  const DType found = (*tensor)->dtype();
  if (found != wanted && !(wanted == DType::F16 && found == DType::BF16))
    return inputError(std::string(name) + ": expected elements of " + toString(wanted) +
                      ", found " + toString(found));
  return (*tensor)->template values<T>();
}

template <typename T>
Tensor Tensor::of(std::vector<int64_t> shape, std::span<const T> values) {
  Tensor tensor(detail::dtypeOf<T>, std::move(shape));
  if (static_cast<int64_t>(values.size()) != tensor.size())
    misused(std::to_string(tensor.size()) + " values of a tensor", std::to_string(values.size()));
  std::ranges::copy(values, tensor.values<T>().begin());
  return tensor;
}

} // namespace heddle
