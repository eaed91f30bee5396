//===- Unpack.h - Weights as tensors ----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inverse of packing for weights of f32: a training session changes stored weights, and
// checkpoints hold tensors.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/Program.h"

#include <cstddef>
#include <span>

namespace heddle {

/// Number of elements of an entry's tensor.
int64_t tensorElements(const PackEntry &entry);

/// Writes the tensor of a stored weight of f32 to `tensor`, in the row-major order of
/// `entry.shape`. `stored` has packedElements(entry) numbers. Error for other types.
Status unpack(const PackEntry &entry, std::span<const float> stored, std::span<float> tensor);
/// Writes a tensor to a stored weight, whose padding is not changed.
Status repack(const PackEntry &entry, std::span<const float> tensor, std::span<float> stored);

} // namespace heddle
