//===- WeightSource.cpp - Sources of a model's tensors ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Look-ups of tensors and their errors, shared by all sources.

#include "heddle/Pack/WeightSource.h"

#include <algorithm>

namespace heddle {

int64_t TensorInfo::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

WeightSource::~WeightSource() = default;

int WeightSource::find(std::string_view name) const {
  auto found = std::ranges::find(tensors(), name, &TensorInfo::name);
  return found == tensors().end() ? -1 : static_cast<int>(found - tensors().begin());
}

Expected<int> WeightSource::require(std::string_view tensor, std::span<const int64_t> shape) const {
  int index = find(tensor);
  std::string place = name() + ": " + std::string(tensor) + ": expected ";
  if (index < 0)
    return inputError(place + shapeText(shape) + ", found no tensor of this name");
  const TensorInfo &info = tensors()[index];
  if (!std::ranges::equal(info.shape, shape))
    return inputError(place + shapeText(shape) + ", found " + shapeText(info.shape));
  if (info.type != "f32" && info.type != "f16" && info.type != "bf16")
    return inputError(place + "f32, f16 or bf16, found " + info.type);
  return index;
}

} // namespace heddle
