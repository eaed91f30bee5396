//===- NanWatch.cpp - Detection of NaN in weights -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks numbers in the pieces that are read anyway, while they are in the processor's caches.

#include "heddle/Pack/NanWatch.h"

#include "heddle/Support/WideClones.h"

namespace heddle {

NanWatch::NanWatch(const WeightSource &source)
    : source(source), whole(std::make_unique<std::once_flag[]>(source.tensors().size())),
      holdsNan(std::make_unique<std::atomic<bool>[]>(source.tensors().size())) {}

/// Without branches, so that the loop is vectorized.
HEDDLE_WIDE_CLONES
static bool hasNan(const float *numbers, size_t count) {
  int any = 0;
  for (size_t i = 0; i < count; ++i)
    any |= numbers[i] != numbers[i];
  return any != 0;
}

void NanWatch::look(int tensor, std::span<const float> numbers) const {
  if (hasNan(numbers.data(), numbers.size()))
    holdsNan[static_cast<size_t>(tensor)] = true;
}

void NanWatch::read(int tensor, int64_t first, std::span<float> out) const {
  source.read(tensor, first, out);
  look(tensor, out);
}

std::span<const float> NanWatch::inPlace(int tensor) const {
  std::span<const float> numbers = source.inPlace(tensor);
  std::call_once(whole[static_cast<size_t>(tensor)], [&] { look(tensor, numbers); });
  return numbers;
}

std::vector<std::string> NanWatch::found() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < tensors().size(); ++i)
    if (holdsNan[i])
      names.push_back(tensors()[i].name);
  return names;
}

} // namespace heddle
