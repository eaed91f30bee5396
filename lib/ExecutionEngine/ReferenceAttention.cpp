//===- ReferenceAttention.cpp - Reference attention -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention. All scores of a row are computed, changed by the rules in their order, masked, and
// passed to a textbook softmax. A masked pair, and a pair with the score minus infinity, has no
// effect on results. Packed documents are computed one at a time, as if each were alone.

#include "ReferenceMasks.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace heddle::reference {

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

//===- Sequences and documents -------------------------------------------===//

namespace {
/// Rows that attend to each other: a sequence, or one document of packed ones.
struct Sequence {
  int64_t number;               ///< b in masks
  int64_t batch;                ///< batch element in the tensors
  int64_t firstQuery, firstKey; ///< first rows in the tensors
  int64_t queries, keys;
};
} // namespace

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

namespace {
/// Scores of all pairs of an attention; minus infinity for a masked pair.
class Scores {
public:
  /// Scores of an attention, or of its statistics or weights, whose operands have equal names.
  template <typename OpT>
  static Expected<Scores> create(OpT op, const Lookup &lookup);
  /// Scores of a query with each key of its sequence.
  std::vector<double> row(const Sequence &sequence, int64_t h, int64_t i) const;
  /// Logit of a head's attention sink; minus infinity, which has no effect, without sinks.
  double sink(int64_t h) const { return sinks ? sinks->values[h] : -infinity; }

  int64_t batch, heads, queries, keys;
  std::vector<Sequence> sequences;

private:
  double product(const Sequence &sequence, int64_t h, int64_t i, int64_t j) const;
  double score(const Sequence &sequence, const Pair &pair) const;

  const RefTensor *query = nullptr, *sinks = nullptr;
  RefTensor key;
  double scale = 1;
  std::optional<double> softcap, hidden;
  Predicate allowed; ///< null allows all
  ScoreRule bias;    ///< null adds nothing
};
} // namespace

static std::optional<double> numberOf(FloatAttr attribute) {
  return attribute ? std::optional(attribute.getValueAsDouble()) : std::nullopt;
}

template <typename OpT>
Expected<Scores> Scores::create(OpT op, const Lookup &lookup) {
  Scores made;
  made.query = &lookup(op.getQuery());
  Value scales = op.getKeyScales();
  made.key = entering(made.query->type, lookup(op.getKey()), scales ? &lookup(scales) : nullptr);
  if (made.query->shape[0] != made.key.shape[0])
    return errorAt(op, "expected keys of " + std::to_string(made.query->shape[0]) +
                           " sequences, found " + std::to_string(made.key.shape[0]));
  made.batch = made.query->shape[0];
  made.heads = made.query->shape[1];
  made.queries = made.query->shape[2];
  made.keys = made.key.shape[2];
  made.scale = op.getScale().convertToFloat();
  made.softcap = numberOf(op.getSoftcapAttr());
  made.hidden = numberOf(op.getHiddenScoreAttr());
  made.sinks = op.getSinks() ? &lookup(op.getSinks()) : nullptr;
  auto sequences = HEDDLE_TRY(sequencesOf(op, made.batch, made.queries, made.keys, lookup));
  made.sequences = sequences;
  Extents extents{static_cast<int64_t>(sequences.size()), made.heads, made.queries, made.keys};
  if (op.getMask()) {
    made.allowed = HEDDLE_TRY(predicate(op.getMask(), extents, lookup));
  }
  if (op.getBias()) {
    made.bias = HEDDLE_TRY(scoreRule(op.getBias(), extents, lookup));
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
    scores.push_back(score(sequence, {sequence.number, h, i, j, sequence.queries, sequence.keys,
                                      sequence.batch, sequence.firstQuery, sequence.firstKey}));
  return scores;
}

/// Whether an allowed score is NaN or plus infinity, which makes the whole row NaN.
static bool isPoisoned(const std::vector<double> &scores) {
  for (double s : scores)
    if (std::isnan(s) || s == infinity)
      return true;
  return false;
}

//===- One row -----------------------------------------------------------===//

/// Natural log-sum-exp in two parts, because the logarithm would be lost to rounding when added to
/// a score of -1e30.
struct LogSumExp {
  double largest, logarithm; ///< largest score; log of the sum of exp(score - largest)
  double value() const { return largest + logarithm; }
};

/// Log-sum-exp of a row and its sink; minus infinity if no pair is allowed.
static LogSumExp logSumExp(const std::vector<double> &scores, double sink) {
  if (isPoisoned(scores) || std::isnan(sink) || sink == infinity)
    return {notANumber, 0};
  double largest = sink;
  for (double s : scores)
    largest = std::max(largest, s);
  if (largest == -infinity)
    return {-infinity, 0};
  double sum = std::exp(sink - largest);
  for (double s : scores)
    sum += std::exp(s - largest);
  return {largest, std::log(sum)};
}

/// Weight of one key: 0 if it is masked or below 2^-126, since devices flush denormals.
static double weightOf(double score, LogSumExp total) {
  if (score == -infinity)
    return 0;
  double weight = std::exp(score - total.largest - total.logarithm);
  return weight < 0x1p-126 ? 0 : weight; // NaN is kept
}

/// Weight for the product with the values, rounded to the queries' type relative to the power of
/// two nearest to the row's largest weight. (Rounding does not depend on the power of two.)
static double roundedWeight(DType type, double weight, double score, double largest) {
  if (type == DType::F32 || std::isnan(weight))
    return weight;
  double unit = std::nearbyint(largest * std::numbers::log2e);
  double inUnits = std::exp2(score * std::numbers::log2e - unit);
  return inUnits > 0 ? roundedTo(type, inUnits) * (weight / inUnits) : 0;
}

/// Calls `visit` with the sequence, head and index of each query.
static void
forEachRow(const Scores &scores,
           llvm::function_ref<void(const Sequence &sequence, int64_t h, int64_t i)> visit) {
  for (const Sequence &sequence : scores.sequences)
    for (int64_t h = 0; h < scores.heads; ++h)
      for (int64_t i = 0; i < sequence.queries; ++i)
        visit(sequence, h, i);
}

/// Index of a row in [B, H, Tq].
static int64_t rowOf(const Scores &scores, const Sequence &sequence, int64_t h, int64_t i) {
  return (sequence.batch * scores.heads + h) * scores.queries + sequence.firstQuery + i;
}

namespace {
/// Result `weights` of attention, per head or averaged.
class Weights {
public:
  Weights(const Scores &scores, bool average)
      : tensor(make(average
                        ? std::vector{scores.batch, scores.queries, scores.keys}
                        : std::vector{scores.batch, scores.heads, scores.queries, scores.keys})),
        scores(scores), average(average) {}
  void add(const Sequence &sequence, int64_t h, int64_t i, int64_t j, double weight) {
    int64_t row = average ? sequence.batch * scores.queries + sequence.firstQuery + i
                          : rowOf(scores, sequence, h, i);
    tensor.values[row * scores.keys + sequence.firstKey + j] +=
        average ? weight / static_cast<double>(scores.heads) : weight;
  }
  /// Makes all weights of a row NaN, including weights of keys in other documents.
  void poison(const Sequence &sequence, int64_t h, int64_t i) {
    for (int64_t j = -sequence.firstKey; j < scores.keys - sequence.firstKey; ++j)
      add(sequence, h, i, j, notANumber);
  }
  RefTensor tensor;

private:
  const Scores &scores;
  bool average;
};
} // namespace

Expected<std::vector<RefTensor>> attention(transformer::AttentionOp op, const Lookup &lookup) {
  const RefTensor &key = lookup(op.getKey());
  Value valueScales = op.getValueScales();
  const RefTensor value = entering(lookup(op.getQuery()).type, lookup(op.getValue()),
                                   valueScales ? &lookup(valueScales) : nullptr);
  Scores scores = HEDDLE_TRY(Scores::create(op, lookup));
  if (value.shape[0] != scores.batch || value.shape[2] != scores.keys)
    return errorAt(op, "expected values for the keys " + shapeText(key.shape) + ", found " +
                           shapeText(value.shape));
  int64_t Dv = value.shape[3], keyHeads = value.shape[1], group = scores.heads / keyHeads;
  RefTensor output = make({scores.batch, scores.heads, scores.queries, Dv});
  RefTensor lse = make({scores.batch, scores.heads, scores.queries});
  Weights weights(scores, op.getAverageWeights());
  forEachRow(scores, [&](const Sequence &sequence, int64_t h, int64_t i) {
    std::vector<double> row = scores.row(sequence, h, i);
    LogSumExp total = logSumExp(row, scores.sink(h));
    int64_t at = rowOf(scores, sequence, h, i);
    lse.values[at] = total.value();
    double *out = output.values.data() + at * Dv;
    double largest = row.empty() ? 0 : *std::max_element(row.begin(), row.end());
    if (std::isnan(total.value()))
      weights.poison(sequence, h, i);
    for (int64_t j = 0; j < sequence.keys; ++j) {
      double p = weightOf(row[j], total);
      if (p == 0) // avoids 0 times infinity, a NaN
        continue;
      weights.add(sequence, h, i, j, p);
      int64_t from = (sequence.batch * keyHeads + h / group) * scores.keys + sequence.firstKey + j;
      double factor = roundedWeight(lookup(op.getQuery()).type, p, row[j], largest);
      for (int64_t d = 0; d < Dv && factor != 0; ++d)
        out[d] += factor * value.values[from * Dv + d];
    }
  });
  std::vector<RefTensor> results = {std::move(output)};
  if (op.getLse())
    results.push_back(std::move(lse));
  if (op.getWeights())
    results.push_back(std::move(weights.tensor));
  return results;
}

//===- Statistics and weights as separate ops ----------------------------===//

Expected<std::vector<RefTensor>> attentionStatistics(transformer::AttentionStatisticsOp op,
                                                     const Lookup &lookup) {
  Scores scores = HEDDLE_TRY(Scores::create(op, lookup));
  RefTensor maximum = make({scores.batch, scores.heads, scores.queries}), sum = maximum;
  forEachRow(scores, [&](const Sequence &sequence, int64_t h, int64_t i) {
    std::vector<double> row = scores.row(sequence, h, i);
    row.push_back(scores.sink(h));         // acts like one more key
    double largest = -0x1p+120, total = 0; // result for a row without an allowed key
    for (double s : row)
      if (s != -infinity)
        largest = std::max(largest, std::nearbyint(s * std::numbers::log2e));
    for (double s : row)
      if (s != -infinity)
        total += std::exp2(s * std::numbers::log2e - largest);
    bool poisoned = isPoisoned(row);
    int64_t at = rowOf(scores, sequence, h, i);
    maximum.values[at] = poisoned ? notANumber : largest;
    sum.values[at] = poisoned ? notANumber : total;
  });
  return std::vector{std::move(maximum), std::move(sum)};
}

Expected<std::vector<RefTensor>> attentionWeights(transformer::AttentionWeightsOp op,
                                                  const Lookup &lookup) {
  const RefTensor &maximum = lookup(op.getMaximum()), &sum = lookup(op.getSum());
  Scores scores = HEDDLE_TRY(Scores::create(op, lookup));
  Weights weights(scores, op.getAverage());
  forEachRow(scores, [&](const Sequence &sequence, int64_t h, int64_t i) {
    std::vector<double> row = scores.row(sequence, h, i);
    int64_t at = rowOf(scores, sequence, h, i);
    if (std::isnan(sum.values[at]))
      weights.poison(sequence, h, i);
    for (int64_t j = 0; j < sequence.keys && sum.values[at] != 0; ++j)
      if (row[j] != -infinity)
        weights.add(sequence, h, i, j,
                    std::exp2(row[j] * std::numbers::log2e - maximum.values[at]) / sum.values[at]);
  });
  return std::vector{std::move(weights.tensor)};
}

} // namespace heddle::reference
