//===- WeightSource.h - Sources of a model's tensors -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interface of weight sources: named tensors that can be read as f32 in pieces, such as a
// safetensors file or random numbers from a seed. Packing reads them once, in any order, from any
// thread.
#pragma once

#include "heddle/Support/Program.h"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heddle {

/// A tensor of a checkpoint.
struct TensorInfo {
  std::string name;
  std::string type; ///< "f32", "f16", "bf16", …; not every type can be read
  std::vector<int64_t> shape;

  int64_t elements() const;
};

/// A group of consecutive elements stored as codes: each is f32(scale) * code + f32(minimum). Scale
/// and minimum are f16. A group of I4 and SI8 has 32 codes, a group of SI6 has 16.
struct GroupCodes {
  uint16_t scale, minimum;
  std::array<int8_t, formatOf(DType::SI8).group> codes;
};

/// Tensors of a checkpoint. All methods may be called from several threads.
class WeightSource {
public:
  virtual ~WeightSource();

  /// Name for messages: the file's path, or "seed 7".
  virtual const std::string &name() const = 0;
  /// All tensors. The list does not change.
  virtual const std::vector<TensorInfo> &tensors() const = 0;
  /// Reads elements [first, first + out.size()) of tensor `tensor`, in row-major order.
  virtual void read(int tensor, int64_t first, std::span<float> out) const = 0;
  /// All elements of a tensor if they are in memory as aligned f32; empty otherwise.
  virtual std::span<const float> inPlace(int tensor) const { return {}; }
  /// The bytes of a tensor in the file; empty if the source has none.
  virtual std::span<const std::byte> bytes(int tensor) const { return {}; }
  /// Type of a tensor in the checkpoint. It differs from the type in tensors() if a view reads it.
  virtual std::string fileType(int tensor) const { return tensors()[tensor].type; }
  /// Type of the codes that a tensor stores: I4, SI8 or SI6; none if it stores none of these.
  virtual std::optional<DType> codeType(int tensor) const { return {}; }
  /// Codes of the group of elements that begins at `first`, for a tensor with a codeType(); none if
  /// f16 cannot represent its scale or minimum, or if no group begins there.
  virtual std::optional<GroupCodes> codes(int tensor, int64_t first) const { return {}; }

  /// Types that can be read.
  virtual std::span<const std::string_view> readableTypes() const;

  /// Error if the tensor's type cannot be read.
  Status checkReadable(int tensor) const;
  /// Index into tensors() of the first tensor with this name, or -1.
  int find(std::string_view name) const;
  /// Index of the tensor with this name, this shape and a readable type. Error if there is none.
  Expected<int> require(std::string_view name, std::span<const int64_t> shape) const;

private:
  mutable std::once_flag isIndexed;
  mutable std::unordered_map<std::string_view, int> indices; ///< of tensors by name, for `find`
};

} // namespace heddle
