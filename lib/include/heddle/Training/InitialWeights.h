//===- InitialWeights.h - Initial weights as a checkpoint ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Pack/WeightSource.h"
#include "heddle/Training/Initial.h"

namespace heddle {

/// Initial weights of tensors with these names and shapes. Types are set to f32.
std::unique_ptr<WeightSource> makeInitialWeights(const InitialRecipe &recipe, uint32_t seed,
                                                 std::vector<TensorInfo> tensors);

} // namespace heddle
