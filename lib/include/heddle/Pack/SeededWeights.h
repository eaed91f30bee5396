//===- SeededWeights.h - Random weights from a seed ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random weights of a description with `"weights": {"seed": 7}`, so that tests need no checkpoint.
// For element n of tensor NAME, z is one splitmix64 step from the state seed ^ fnv1a64(NAME) ^ n,
// and u = (z >> 40) * 2^-23 - 1. The element is f32(u) * f32(sqrt(3 / fan_in)). fan_in is the last
// dimension; a bias uses the fan_in of its weight. Norms are 1 (`.norm.weight`) and 0
// (`.norm.bias`).
#pragma once

#include "heddle/Pack/WeightSource.h"

namespace heddle {

/// `tensors` are names and shapes of all tensors of the model; types are set to f32. Error for a
/// bias without a weight, from which its fan_in would be taken.
Expected<std::unique_ptr<WeightSource>> makeSeededWeights(uint64_t seed,
                                                          std::vector<TensorInfo> tensors);

} // namespace heddle
