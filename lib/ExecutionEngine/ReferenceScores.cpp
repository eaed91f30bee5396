//===- ReferenceScores.cpp - Reference scores -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences of an attention, and the scores of their pairs.

#include "ReferenceScores.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numbers>

using namespace mlir;

namespace heddle::reference {

//===- Sequences and documents -------------------------------------------===//

/// Checks that starts ascend from 0 to `rows`.
static Status checkStarts(Operation *op, const RefTensor &starts, int64_t rows) {
  if (starts.size() == 0 || starts.values.front() != 0 ||
      starts.values.back() != static_cast<double>(rows))
    return errorAt(op, "expected starts from 0 to " + std::to_string(rows) + ", found others");
  for (int64_t n = 1; n < starts.size(); ++n)
    if (starts.values[n] < starts.values[n - 1])
      return errorAt(op, "expected starts that do not decrease, found " +
                             std::to_string(static_cast<int64_t>(starts.values[n])) + " after " +
                             std::to_string(static_cast<int64_t>(starts.values[n - 1])));
  return {};
}

static Expected<std::vector<Sequence>> documentsOf(transformer::MaskDocumentsOp op, int64_t batch,
                                                   int64_t queries, int64_t keys,
                                                   const Lookup &lookup) {
  const RefTensor &q = lookup(op.getQueries()), &k = lookup(op.getKeys());
  if (batch != 1 || q.size() != k.size())
    return errorAt(op, "expected a batch of 1 and as many starts of keys as of queries, found " +
                           std::to_string(batch) + ", " + std::to_string(k.size()) + " and " +
                           std::to_string(q.size()));
  for (auto [starts, rows] : {std::pair{&q, queries}, std::pair{&k, keys}})
    HEDDLE_TRY(checkStarts(op, *starts, rows));
  std::vector<Sequence> documents;
  for (int64_t n = 0; n + 1 < q.size(); ++n) {
    auto at = [n](const RefTensor &starts) { return static_cast<int64_t>(starts.values[n]); };
    auto rowsOf = [n](const RefTensor &starts) {
      return static_cast<int64_t>(starts.values[n + 1] - starts.values[n]);
    };
    documents.push_back({n, 0, at(q), at(k), rowsOf(q), rowsOf(k)});
  }
  return documents;
}

static Expected<std::vector<Sequence>> sequencesOf(transformer::ScoresOpInterface op, int64_t batch,
                                                   int64_t queries, int64_t keys,
                                                   const Lookup &lookup) {
  if (transformer::MaskDocumentsOp packed = transformer::packedDocumentsOf(op.getMask()))
    return documentsOf(packed, batch, queries, keys, lookup);
  Value given = op.getRules().keyCounts;
  const RefTensor *counts = given ? &lookup(given) : nullptr;
  std::vector<Sequence> sequences;
  for (int64_t b = 0; b < batch; ++b) {
    auto exist = counts ? static_cast<int64_t>(counts->values[b]) : keys;
    if (exist < 0 || exist > keys)
      return errorAt(op, "expected counts of keys from 0 to " + std::to_string(keys) + ", found " +
                             std::to_string(exist));
    sequences.push_back({b, b, 0, 0, queries, exist});
  }
  return sequences;
}

//===- Scores ------------------------------------------------------------===//

static std::optional<double> numberOf(FloatAttr attribute) {
  return attribute ? std::optional(attribute.getValueAsDouble()) : std::nullopt;
}

Expected<Scores> Scores::create(transformer::ScoresOpInterface op, const Lookup &lookup) {
  Scores made;
  const transformer::ScoreRules rules = op.getRules();
  made.query = &lookup(op.getQuery());
  Value scales = rules.keyScales;
  made.key = entering(made.query->type, lookup(op.getKey()), scales ? &lookup(scales) : nullptr);
  if (made.query->shape[0] != made.key.shape[0])
    return errorAt(op, "expected keys of " + std::to_string(made.query->shape[0]) +
                           " sequences, found " + std::to_string(made.key.shape[0]));
  made.batch = made.query->shape[0];
  made.heads = made.query->shape[1];
  made.queries = made.query->shape[2];
  made.keys = made.key.shape[2];
  made.scale = op.getScaleAttr().getValueAsDouble();
  made.softcap = numberOf(rules.softcap);
  made.hidden = numberOf(rules.hiddenScore);
  made.sinks = rules.sinks ? &lookup(rules.sinks) : nullptr;
  auto sequences = HEDDLE_TRY(sequencesOf(op, made.batch, made.queries, made.keys, lookup));
  made.sequences = sequences;
  Extents extents{static_cast<int64_t>(sequences.size()), made.heads, made.queries, made.keys};
  if (op.getMask()) {
    made.allowed = HEDDLE_TRY(predicate(op.getMask(), extents, lookup));
  }
  if (rules.bias) {
    made.bias = HEDDLE_TRY(scoreRule(rules.bias, extents, lookup));
  }
  return made;
}

/// Rounds numbers beyond f32 to infinity, as every device does.
static double asDevice(double x) { return std::abs(x) > FLT_MAX ? std::copysign(infinity, x) : x; }

double Scores::product(const Sequence &sequence, int64_t h, int64_t i, int64_t j) const {
  int64_t D = query->shape[3], keyHeads = key.shape[1], g = h / (heads / keyHeads);
  const double *q =
      query->values.data() + ((sequence.batch * heads + h) * queries + sequence.firstQuery + i) * D;
  const double *k =
      key.values.data() + ((sequence.batch * keyHeads + g) * keys + sequence.firstKey + j) * D;
  double dot = 0;
  for (int64_t d = 0; d < D; ++d)
    dot += q[d] * k[d];
  return asDevice(dot);
}

/// Score of a pair: scale, soft cap, bias, mask, in the order that docs/language.md defines.
double Scores::score(const Sequence &sequence, const Pair &pair) const {
  bool isHidden = allowed && !allowed(pair);
  if (isHidden && !hidden)
    return -infinity;
  double added = bias ? bias(pair) : 0;
  if (added == -infinity) // excludes the pair, even if the product is NaN
    return -infinity;
  if (isHidden)
    return std::max(*hidden, -0x1p+100 / std::numbers::log2e); // clamped like scores with a bias
  double s = asDevice(scale * product(sequence, pair.h, pair.i, pair.j));
  if (softcap)
    s = *softcap * std::tanh(s / *softcap);
  if (bias)
    s = asDevice(s + added);
  return bias && std::isfinite(s) ? std::clamp(s, -0x1p+100, 0x1p+100) : s;
}

std::vector<double> Scores::row(const Sequence &sequence, int64_t h, int64_t i) const {
  std::vector<double> scores;
  for (int64_t j = 0; j < sequence.keys; ++j)
    scores.push_back(score(sequence, pairOf(sequence, h, i, j)));
  return scores;
}

double Scores::slope(const Sequence &sequence, int64_t h, int64_t i, int64_t j) const {
  if (allowed && !allowed(pairOf(sequence, h, i, j)))
    return 0;
  if (!softcap)
    return 1;
  double capped = std::tanh(scale * product(sequence, h, i, j) / *softcap);
  return 1 - capped * capped;
}

void forEachRow(const Scores &scores,
                llvm::function_ref<void(const Sequence &sequence, int64_t h, int64_t i)> visit) {
  for (const Sequence &sequence : scores.sequences)
    for (int64_t h = 0; h < scores.heads; ++h)
      for (int64_t i = 0; i < sequence.queries; ++i)
        visit(sequence, h, i);
}

int64_t rowOf(const Scores &scores, const Sequence &sequence, int64_t h, int64_t i) {
  return (sequence.batch * scores.heads + h) * scores.queries + sequence.firstQuery + i;
}

} // namespace heddle::reference
