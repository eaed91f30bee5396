//===- StoredTensor.h - Decoding of stored tensors -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads stored tensors for verification: dense values of a kernel's result from its buffer, and of
// a checkpoint's tensor from packed weights.
#pragma once

#include "heddle/Support/Program.h"

#include <span>

namespace heddle {

/// Layout of a kernel's result in memory, with all sizes evaluated.
struct StoredLayout {
  std::vector<int64_t> dims; ///< stored sizes; leading dimensions may be flattened
  int64_t first = 0;         ///< stored row of each matrix's first row
  /// Stored row of the first row of each sequence (the first dimension), instead of `first`, and
  /// the number of its rows that are stored; empty: all.
  std::vector<int64_t> firsts, counts;
  int64_t rows = 1;  ///< distance of matrices (the last two dimensions), in rows
  int64_t pitch = 1; ///< distance of rows, in elements
  bool panel = false;
  int64_t group = 0;       ///< size of heads in the last dimension, each padded; 0: no groups
  DType type = DType::F32; ///< in panels, a word of narrower elements holds several columns
  int64_t codeBase = 0;    ///< offset of stored bytes from their codes
};

/// Number of the sequence that contains row `row` (leading dimensions flattened).
int64_t sequenceOf(const StoredLayout &layout, int64_t row);

/// Position of element `column` of row `row` (all leading dimensions flattened), in elements.
int64_t storedIndex(const StoredLayout &layout, int64_t row, int64_t column);

/// Element `index` of a buffer of f32, bf16, f16 or i8 codes; a stored byte is its code plus
/// `codeBase`.
float storedValue(DType type, const std::byte *memory, int64_t index, int64_t codeBase = 0);

/// Values of an entry's tensor, read from packed weights; codes are dequantized.
std::vector<float> unpackTensor(const Program &program, const PackEntry &entry,
                                std::span<const std::byte> weights);

} // namespace heddle
