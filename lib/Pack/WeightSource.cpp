//===- WeightSource.cpp - Sources of a model's tensors ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lookup of tensors and its errors, shared by all sources.

#include "heddle/Pack/WeightSource.h"

#include "heddle/Support/Try.h"

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
  std::call_once(isIndexed, [&] {
    for (const TensorInfo &tensor : tensors())
      indices.emplace(tensor.name, static_cast<int>(&tensor - tensors().data()));
  });
  auto found = indices.find(name);
  return found == indices.end() ? -1 : found->second;
}

std::span<const std::string_view> WeightSource::readableTypes() const {
  static constexpr std::string_view types[] = {"f32", "f16", "bf16", "f64"};
  return types;
}

Status WeightSource::checkReadable(int tensor) const {
  const TensorInfo &info = tensors()[tensor];
  const std::span<const std::string_view> types = readableTypes();
  if (std::ranges::find(types, info.type) != types.end())
    return {};
  std::string listed;
  for (size_t i = 0; i < types.size(); ++i)
    listed.append(i == 0 ? "" : i + 1 < types.size() ? ", " : " or ").append(types[i]);
  return inputError(name() + ": " +
                    printable(info.name + ": expected " + listed + ", found " + info.type));
}

Expected<int> WeightSource::require(std::string_view tensor, std::span<const int64_t> shape) const {
  int index = find(tensor);
  std::string place = name() + ": " + std::string(tensor) + ": expected ";
  if (index < 0)
    return inputError(place + shapeText(shape) + ", found no tensor of this name");
  const TensorInfo &info = tensors()[index];
  if (!std::ranges::equal(info.shape, shape))
    return inputError(place + shapeText(shape) + ", found " + shapeText(info.shape));
  HEDDLE_TRY(checkReadable(index));
  return index;
}

} // namespace heddle
