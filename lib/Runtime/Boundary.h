//===- Boundary.h - Copies between callers and planned memory ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callers' tensors are dense and of several types; planned memory has 4-byte
// elements in rows whose last dimension is padded group by group. Tables that
// the host generates are made here too.
#pragma once

#include "heddle/Runtime/Tensor.h"

namespace heddle {

/// The rows of a port in planned memory.
struct RowForm {
  int64_t rows = 0;
  int64_t columns = 0; ///< of the caller
  int64_t group = 0;   ///< columns that lie together, divides columns
  int64_t stored = 0;  ///< elements that a group takes
  int64_t elements() const { return group == 0 ? 0 : rows * (columns / group) * stored; }
};

/// Form of a port whose evaluated shape is `shape`; an error where the groups do not divide it.
Expected<RowForm> rowForm(const Port &port, std::span<const int64_t> shape);

/// Whether a tensor of type `given` can be an input of type `wanted`.
bool accepts(DType wanted, DType given);
/// An integer element, whatever integer type the tensor has.
int64_t integerAt(const Tensor &tensor, int64_t index);

/// Writes a whole buffer: values in rows, zero bits in the padding.
void packTensor(const Tensor &tensor, const RowForm &form, uint32_t *memory);
/// Reads values back, converting them to the tensor's type.
void unpackTensor(const uint32_t *memory, const RowForm &form, Tensor &tensor);

/// Copies elements into a tensor of the same type whose first two dimensions are the other way
/// round.
void transposeFirstTwo(const Tensor &from, Tensor &to);

/// A tensor with the first two dimensions of another the other way round, in memory that is used
/// again.
class TransposedTensor {
public:
  /// For a tensor of `shape`; the contents are unspecified.
  Tensor &shapedFor(DType type, std::span<const int64_t> shape);
  const Tensor &of(const Tensor &tensor);

private:
  std::vector<int64_t> transposed;
  Tensor values;
};

} // namespace heddle
