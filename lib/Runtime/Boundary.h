//===- Boundary.h - Copies between callers and planned memory ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion between callers' tensors, which are dense and have several types, and planned memory,
// which has 4-byte elements. The last dimension in planned memory consists of groups (heads, for
// example), each padded to a multiple of 16 elements.
#pragma once

#include "heddle/Runtime/Tensor.h"

namespace heddle {

/// Layout of a port in planned memory.
struct RowForm {
  int64_t rows = 0;
  int64_t columns = 0; ///< last dimension of the caller's tensor
  int64_t group = 0;   ///< columns of a group; divides `columns`
  int64_t stored = 0;  ///< elements of a group in memory, padding included
  int64_t elements() const { return group == 0 ? 0 : rows * (columns / group) * stored; }
};

/// Layout of a port with sizes `shape`. Error if its groups do not divide the last size.
Expected<RowForm> rowForm(const Port &port, std::span<const int64_t> shape);

/// Whether a tensor of type `given` can be an input of type `wanted`: equal types, i64 for i32, or
/// f16 for f32.
bool accepts(DType wanted, DType given);
/// Element of a tensor of i32, i64 or bool.
int64_t integerAt(const Tensor &tensor, int64_t index);

/// Writes a whole buffer: values in rows, zero bits in the padding.
void packTensor(const Tensor &tensor, const RowForm &form, uint32_t *memory);
/// Reads a buffer back into a tensor whose shape fits `form`, without the padding.
void unpackTensor(const uint32_t *memory, const RowForm &form, Tensor &tensor);

/// Transposes the first two dimensions: from[r][c][…] becomes to[c][r][…]. `to` already has the
/// type and the transposed shape.
void transposeFirstTwo(const Tensor &from, Tensor &to);

/// Copy with the first two dimensions transposed; its memory is kept between calls.
class TransposedTensor {
public:
  /// The copy's tensor for an original with shape `shape`; its contents are unspecified.
  Tensor &shapedFor(DType type, std::span<const int64_t> shape);
  const Tensor &of(const Tensor &tensor);

private:
  std::vector<int64_t> transposed;
  Tensor values;
};

} // namespace heddle
