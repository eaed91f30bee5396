//===- Initial.h - Initial weights -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights before the first step. An element is a function of the seed, its tensor's name and shape,
// and its index. It depends neither on threads nor on the order of tensors. It has the same bits on
// every machine: additions, products, quotients and square roots of f64 map words of Philox to
// numbers, and IEEE 754 rounds these alike everywhere.
//
//   uniform   u = (2 word + 1) * 2^-32 - 1, which is exact
//   normal    the inverse of the normal distribution at (word + 0.5) * 2^-32, by algorithm AS 241
//             (Wichura 1988). Its logarithm is a series of this file, not the C library's.
//
// The product with the bound or the deviation is rounded to f64, and then to f32.
#pragma once

#include "heddle/Training/Recipe.h"

#include <span>

namespace heddle {

/// Elements [first, first + out.size()) of a tensor, in row-major order. A name that ends with
/// `norm.weight` gives 1, any other tensor with less than two dimensions 0. Tables are the tensors
/// `*.embedding.weight`, `*.position.weight` and `*.types.weight`, others are matrices.
void initialValues(const InitialRecipe &recipe, uint32_t seed, std::string_view name,
                   std::span<const int64_t> shape, int64_t first, std::span<float> out);

/// The inverse of the normal distribution at (word + 0.5) * 2^-32, with a relative error below
/// 1e-14.
double normalOf(uint32_t word);

} // namespace heddle
