//===- ReferenceMasks.h - Reference masks and score rules --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks and score rules as functions of one pair, made from their ops once per attention. They
// follow docs/language.md and share no code with kernels.
#pragma once

#include "ReferenceOps.h"

namespace heddle::reference {

/// Arguments of a mask: batch element, head, query and key, and the numbers of queries and keys of
/// their sequence or document.
struct Pair {
  int64_t b, h, i, j, queries, keys;
  int64_t batch = 0, firstQuery = 0, firstKey = 0; ///< position of the sequence in the operands
};
using Predicate = std::function<bool(const Pair &)>;
using ScoreRule = std::function<double(const Pair &)>;
/// Offset of a pair's query; masks compare keys with i + offset.
using Offset = std::function<int64_t(const Pair &)>;

/// Sizes that tables must have: sequences (or documents), heads, queries and keys of the attention.
struct Extents {
  int64_t sequences, heads, queries, keys;
};

/// A mask or a score rule as a function. It refers to the tensors of `lookup`, which must outlive
/// it. Tables are checked against `extents`.
Expected<Predicate> predicate(mlir::Value mask, const Extents &extents, const Lookup &lookup);
Expected<ScoreRule> scoreRule(mlir::Value bias, const Extents &extents, const Lookup &lookup);

/// Offset operand of an op, or the default keys - queries.
Expected<Offset> offsetOf(mlir::Operation *op, mlir::Value operand, const Extents &extents,
                          const Lookup &lookup);
/// Checks that a table has one entry per sequence.
Status checkPerSequence(mlir::Operation *op, const RefTensor &table, const Extents &extents);
/// Checks a table over (sequences, heads, queries, keys); each dimension is 1 or has its full size.
Status checkPairs(mlir::Operation *op, const RefTensor &table, const Extents &extents);
/// Checks that each dimension of a rank-4 table is 1 or the expected size.
Status checkBroadcast(mlir::Operation *op, const RefTensor &table,
                      const std::vector<int64_t> &expected);
/// table[b, h, i, j]; dimensions of 1 are broadcast.
double entryAt(const RefTensor &table, int64_t b, int64_t h, int64_t i, int64_t j);

/// Region of mask.where or bias.where as a function that returns the yielded value, i1 as 0 or 1.
Expected<ScoreRule> formula(mlir::Operation *where, const Lookup &lookup);

} // namespace heddle::reference
