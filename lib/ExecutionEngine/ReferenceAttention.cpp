//===- ReferenceAttention.cpp - Attention, one row at a time --------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scores of a row are written out, masked, and put through a softmax of the
// textbook's kind. What is masked, minus infinity included, takes part in
// nothing that follows.
//
//===----------------------------------------------------------------------===//

#include "ReferenceOps.h"

#include <cfloat>
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace heddle::reference {

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

namespace {
/// Batch, heads, queries and keys of an attention.
struct Extents {
  int64_t B, H, Tq, Tk;
};
using Predicate = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;
} // namespace

static Expected<Predicate> causal(transformer::MaskCausalOp op, const Extents &x,
                                  const Lookup &lookup) {
  if (!op.getOffset())
    return Predicate(
        [d = x.Tk - x.Tq](int64_t, int64_t, int64_t i, int64_t j) { return j <= i + d; });
  const RefTensor &offset = lookup(op.getOffset());
  if (offset.shape.empty())
    return Predicate([d = static_cast<int64_t>(offset.values[0])](
                         int64_t, int64_t, int64_t i, int64_t j) { return j <= i + d; });
  if (offset.size() != x.B)
    return errorAt(op, "expected " + std::to_string(x.B) + " offsets, found " +
                           std::to_string(offset.size()));
  return Predicate([&offset](int64_t b, int64_t, int64_t i, int64_t j) {
    return j <= i + static_cast<int64_t>(offset.values[b]);
  });
}

static Expected<Predicate> dense(transformer::MaskDenseOp op, const Extents &x,
                                 const Lookup &lookup) {
  const RefTensor &table = lookup(op.getTable());
  std::vector<int64_t> full = {x.B, x.H, x.Tq, x.Tk};
  for (int d = 0; d < 4; ++d)
    if (table.shape[d] != 1 && table.shape[d] != full[d])
      return errorAt(op, "expected a table of " + shapeText(full) + " or 1 in a dimension, found " +
                             shapeText(table.shape));
  return Predicate([&table](int64_t b, int64_t h, int64_t i, int64_t j) {
    int64_t at[] = {b, h, i, j}, index = 0;
    for (int d = 0; d < 4; ++d)
      index = index * table.shape[d] + (table.shape[d] == 1 ? 0 : at[d]);
    return table.values[index] != 0;
  });
}

static Expected<Predicate> lengths(transformer::MaskLengthsOp op, const Extents &x,
                                   const Lookup &lookup) {
  const RefTensor &table = lookup(op.getLengths());
  if (table.size() != x.B)
    return errorAt(op, "expected " + std::to_string(x.B) + " lengths, found " +
                           std::to_string(table.size()));
  return Predicate([&table](int64_t b, int64_t, int64_t, int64_t j) {
    return j < static_cast<int64_t>(table.values[b]);
  });
}

static Expected<Predicate> predicate(Value mask, const Extents &x, const Lookup &lookup) {
  Operation *op = mask.getDefiningOp();
  if (auto m = dyn_cast<transformer::MaskCausalOp>(op))
    return causal(m, x, lookup);
  if (auto m = dyn_cast<transformer::MaskLengthsOp>(op))
    return lengths(m, x, lookup);
  if (auto m = dyn_cast<transformer::MaskDenseOp>(op))
    return dense(m, x, lookup);
  if (auto m = dyn_cast<transformer::MaskNotOp>(op)) {
    Expected<Predicate> inner = predicate(m.getMask(), x, lookup);
    if (!inner)
      return inner;
    return Predicate(
        [f = *inner](int64_t b, int64_t h, int64_t i, int64_t j) { return !f(b, h, i, j); });
  }
  if (auto m = dyn_cast<transformer::MaskAndOp>(op)) {
    Expected<Predicate> l = predicate(m.getLhs(), x, lookup), r = predicate(m.getRhs(), x, lookup);
    if (!l || !r)
      return l ? std::move(r) : std::move(l);
    return Predicate([f = *l, g = *r](int64_t b, int64_t h, int64_t i, int64_t j) {
      return f(b, h, i, j) && g(b, h, i, j);
    });
  }
  return errorAt(op, "the reference has no meaning for this mask");
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

namespace {
/// The scores of all pairs of one attention; minus infinity where a pair is masked.
class Scores {
public:
  static Expected<Scores> create(Operation *op, const RefTensor &query, const RefTensor &key,
                                 Value mask, double scale, const Lookup &lookup);
  std::vector<double> row(int64_t b, int64_t h, int64_t i) const;
  Extents extents;

private:
  Scores(const RefTensor &query, const RefTensor &key, double scale, Predicate allowed)
      : extents{query.shape[0], query.shape[1], query.shape[2], key.shape[2]}, query(&query),
        key(&key), scale(scale), allowed(std::move(allowed)) {}
  const RefTensor *query, *key;
  double scale;
  Predicate allowed;
};
} // namespace

Expected<Scores> Scores::create(Operation *op, const RefTensor &query, const RefTensor &key,
                                Value mask, double scale, const Lookup &lookup) {
  if (query.shape[0] != key.shape[0])
    return errorAt(op, "expected keys of " + std::to_string(query.shape[0]) + " sentences, found " +
                           std::to_string(key.shape[0]));
  Predicate allowed = [](int64_t, int64_t, int64_t, int64_t) { return true; };
  if (mask) {
    Expected<Predicate> made =
        predicate(mask, {query.shape[0], query.shape[1], query.shape[2], key.shape[2]}, lookup);
    if (!made)
      return made.takeError();
    allowed = *made;
  }
  return Scores(query, key, scale, allowed);
}

/// A product that f32 cannot hold is infinite on every device, so it is here.
static double asDevice(double x) { return std::abs(x) > FLT_MAX ? std::copysign(infinity, x) : x; }

std::vector<double> Scores::row(int64_t b, int64_t h, int64_t i) const {
  int64_t D = query->shape[3], keyHeads = key->shape[1], g = h / (extents.H / keyHeads);
  const double *q = query->values.data() + ((b * extents.H + h) * extents.Tq + i) * D;
  std::vector<double> scores(extents.Tk, -infinity);
  for (int64_t j = 0; j < extents.Tk; ++j) {
    if (!allowed(b, h, i, j))
      continue;
    const double *k = key->values.data() + ((b * keyHeads + g) * extents.Tk + j) * D;
    double dot = 0;
    for (int64_t d = 0; d < D; ++d)
      dot += q[d] * k[d];
    scores[j] = asDevice(scale * asDevice(dot));
  }
  return scores;
}

/// True where an allowed score is NaN or plus infinity: the row is NaN then.
static bool isPoisoned(const std::vector<double> &scores) {
  for (double s : scores)
    if (std::isnan(s) || s == infinity)
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// One row
//===----------------------------------------------------------------------===//

/// Natural log-sum-exp; minus infinity without an allowed key.
static double logSumExp(const std::vector<double> &scores) {
  if (isPoisoned(scores))
    return notANumber;
  double largest = -infinity, sum = 0;
  for (double s : scores)
    largest = std::max(largest, s);
  if (largest == -infinity)
    return -infinity;
  for (double s : scores)
    sum += std::exp(s - largest);
  return largest + std::log(sum);
}

/// The weight of one key: 0 where it is masked, or so small that no device counts it (below
/// 2^-125).
static double weightOf(double score, double lse) {
  if (score == -infinity)
    return 0;
  double weight = std::exp(score - lse);
  return weight < 0x1p-126 ? 0 : weight; // a NaN stays one
}

Expected<std::vector<RefTensor>> attention(transformer::AttentionOp op, const Lookup &lookup) {
  const RefTensor &query = lookup(op.getQuery()), &key = lookup(op.getKey()),
                  &value = lookup(op.getValue());
  Expected<Scores> scores =
      Scores::create(op, query, key, op.getMask(), op.getScale().convertToFloat(), lookup);
  if (!scores)
    return scores.takeError();
  auto [B, H, Tq, Tk] = scores->extents;
  if (value.shape[0] != B || value.shape[2] != Tk)
    return errorAt(op, "expected values for the keys " + shapeText(key.shape) + ", found " +
                           shapeText(value.shape));
  int64_t Dv = value.shape[3], keyHeads = value.shape[1], group = H / keyHeads;
  bool average = op.getAverageWeights();
  RefTensor output{DType::F32, {B, H, Tq, Dv}, std::vector<double>(B * H * Tq * Dv)};
  RefTensor lse{DType::F32, {B, H, Tq}, {}};
  RefTensor weights{DType::F32, average ? std::vector{B, Tq, Tk} : std::vector{B, H, Tq, Tk}, {}};
  weights.values.resize(elementCount(weights.shape));
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < Tq; ++i) {
        std::vector<double> row = scores->row(b, h, i);
        double total = logSumExp(row);
        lse.values.push_back(total);
        double *out = output.values.data() + ((b * H + h) * Tq + i) * Dv;
        double *w = weights.values.data() + ((average ? b : b * H + h) * Tq + i) * Tk;
        for (int64_t j = 0; j < Tk; ++j) {
          double p = weightOf(row[j], total);
          if (p == 0) // a value that is not finite must not reach the row through a zero
            continue;
          w[j] += average ? p / H : p;
          for (int64_t d = 0; d < Dv; ++d)
            out[d] += p * value.values[((b * keyHeads + h / group) * Tk + j) * Dv + d];
        }
      }
  std::vector<RefTensor> results = {std::move(output)};
  if (op.getLse())
    results.push_back(std::move(lse));
  if (op.getWeights())
    results.push_back(std::move(weights));
  return results;
}

//===----------------------------------------------------------------------===//
// Statistics and weights, as the compiler separates them
//===----------------------------------------------------------------------===//

Expected<std::vector<RefTensor>> attentionStatistics(transformer::AttentionStatisticsOp op,
                                                     const Lookup &lookup) {
  Expected<Scores> scores = Scores::create(op, lookup(op.getQuery()), lookup(op.getKey()),
                                           op.getMask(), op.getScale().convertToFloat(), lookup);
  if (!scores)
    return scores.takeError();
  auto [B, H, Tq, Tk] = scores->extents;
  RefTensor maximum{DType::F32, {B, H, Tq}, {}}, sum = maximum;
  for (int64_t n = 0; n < B * H * Tq; ++n) {
    std::vector<double> row = scores->row(n / Tq / H, n / Tq % H, n % Tq);
    double largest = -0x1p+120, total = 0; // of a row without an allowed key
    for (double s : row)
      if (s != -infinity)
        largest = std::max(largest, std::nearbyint(s * std::numbers::log2e));
    for (double s : row)
      if (s != -infinity)
        total += std::exp2(s * std::numbers::log2e - largest);
    bool poisoned = isPoisoned(row);
    maximum.values.push_back(poisoned ? notANumber : largest);
    sum.values.push_back(poisoned ? notANumber : total);
  }
  return std::vector{std::move(maximum), std::move(sum)};
}

Expected<std::vector<RefTensor>> attentionWeights(transformer::AttentionWeightsOp op,
                                                  const Lookup &lookup) {
  const RefTensor &maximum = lookup(op.getMaximum()), &sum = lookup(op.getSum());
  Expected<Scores> scores = Scores::create(op, lookup(op.getQuery()), lookup(op.getKey()),
                                           op.getMask(), op.getScale().convertToFloat(), lookup);
  if (!scores)
    return scores.takeError();
  auto [B, H, Tq, Tk] = scores->extents;
  bool average = op.getAverage();
  RefTensor weights{DType::F32, average ? std::vector{B, Tq, Tk} : std::vector{B, H, Tq, Tk}, {}};
  weights.values.resize(elementCount(weights.shape));
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < Tq; ++i) {
        int64_t at = (b * H + h) * Tq + i;
        std::vector<double> row = scores->row(b, h, i);
        double *w = weights.values.data() + ((average ? b : b * H + h) * Tq + i) * Tk;
        for (int64_t j = 0; j < Tk && sum.values[at] != 0; ++j)
          if (row[j] != -infinity)
            w[j] += std::exp2(row[j] * std::numbers::log2e - maximum.values[at]) / sum.values[at] /
                    (average ? H : 1);
      }
  return std::vector{std::move(weights)};
}

} // namespace heddle::reference
