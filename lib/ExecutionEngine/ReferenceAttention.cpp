//===- ReferenceAttention.cpp - Reference attention -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention. All scores of a row are computed, changed by the rules in their order, masked, and
// passed to a textbook softmax. A masked pair, and a pair with the score minus infinity, has no
// effect on results. Packed documents are computed one at a time, as if each were alone.

#include "ReferenceDropout.h"
#include "ReferenceScores.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mlir;

namespace heddle::reference {

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
  const std::optional<Dropout> dropout = Dropout::of(op, lookup);
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
      if (dropout)
        factor *= dropout->factor(j, i, exampleOf(lookup(op.getExamples()), scores, sequence, h));
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
