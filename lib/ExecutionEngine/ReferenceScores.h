//===- ReferenceScores.h - Reference scores ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores of attention and its sequences. Attention and its gradients share them.
#pragma once

#include "ReferenceMasks.h"

#include <limits>

namespace heddle::reference {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// Rows that attend to each other: a sequence, or one document of packed ones.
struct Sequence {
  int64_t number;               ///< b in masks
  int64_t batch;                ///< batch element in the tensors
  int64_t firstQuery, firstKey; ///< first rows in the tensors
  int64_t queries, keys;
};

/// Scores of all pairs of an attention; minus infinity for a masked pair.
class Scores {
public:
  static Expected<Scores> create(transformer::ScoresOpInterface op, const Lookup &lookup);
  /// Scores of a query with each key of its sequence.
  std::vector<double> row(const Sequence &sequence, int64_t h, int64_t i) const;
  /// Derivative of the score of query i and key j with respect to their scaled product.
  double slope(const Sequence &sequence, int64_t h, int64_t i, int64_t j) const;
  /// Logit of a head's attention sink; minus infinity, which has no effect, without sinks.
  double sink(int64_t h) const { return sinks ? sinks->values[h] : -infinity; }

  int64_t batch, heads, queries, keys;
  std::vector<Sequence> sequences;

private:
  Pair pairOf(const Sequence &sequence, int64_t h, int64_t i, int64_t j) const {
    return {sequence.number,
            h,
            i,
            j,
            sequence.queries,
            sequence.keys,
            sequence.batch,
            sequence.firstQuery,
            sequence.firstKey};
  }
  double product(const Sequence &sequence, int64_t h, int64_t i, int64_t j) const;
  double score(const Sequence &sequence, const Pair &pair) const;

  const RefTensor *query = nullptr, *sinks = nullptr;
  RefTensor key;
  double scale = 1;
  std::optional<double> softcap, hidden;
  Predicate allowed; ///< null allows all
  ScoreRule bias;    ///< null adds nothing
};

/// Calls `visit` with the sequence, head and index of each query.
void forEachRow(const Scores &scores,
                llvm::function_ref<void(const Sequence &sequence, int64_t h, int64_t i)> visit);
/// Index of a row in [B, H, Tq].
int64_t rowOf(const Scores &scores, const Sequence &sequence, int64_t h, int64_t i);

/// Number of the example of a head in the counters of dropout.
inline int64_t exampleOf(const RefTensor &examples, const Scores &scores, const Sequence &sequence,
                         int64_t h) {
  return static_cast<int64_t>(examples.values[sequence.number]) * scores.heads + h;
}

} // namespace heddle::reference
