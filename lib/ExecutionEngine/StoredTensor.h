//===- StoredTensor.h - Tensors out of planned memory ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inverse of storage: dense values of a kernel's result from the buffer it
// wrote, and of a checkpoint's tensor from its packed form. Only verification
// needs either.
#pragma once

#include "heddle/Support/Program.h"

#include <span>

namespace heddle {

/// How a result lies in memory; all sizes are numbers by now.
struct StoredLayout {
  std::vector<int64_t> dims; ///< sizes in storage; leading dimensions may be flattened
  int64_t first = 0;         ///< row of each matrix that the first row is stored to
  int64_t rows = 1;          ///< distance of matrices of the last two dimensions, in rows
  int64_t pitch = 1;         ///< distance of rows, in elements
  bool panel = false;
  int64_t group = 0;       ///< heads of this size in the last dimension are padded one by one
  DType type = DType::F32; ///< in panels, narrower elements lie in words of several columns
};

/// Where element `column` of row `row` (all leading dimensions flattened) lies, in elements.
int64_t storedIndex(const StoredLayout &layout, int64_t row, int64_t column);

/// Element `index` of memory that holds elements of `type`: f32, bf16, f16, or codes as kernels store
/// those of rows, i8.
float storedValue(DType type, const std::byte *memory, int64_t index);

/// The values of a tensor of `entry` from an artifact's packed weights; of codes what they stand
/// for.
std::vector<float> unpackTensor(const Program &program, const PackEntry &entry,
                                std::span<const std::byte> weights);

} // namespace heddle
