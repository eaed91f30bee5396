//===- ReferenceBias.cpp - Reference score rules --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Score rules, one function each, after the formulas of the papers (ALiBi, T5). Rules are defined
// in f32, so each result is rounded to f32.

#include "ReferenceMasks.h"

#include "llvm/ADT/TypeSwitch.h"

#include "heddle/Support/Try.h"

#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle::reference {

/// ALiBi's slope of head h: 2^(-8 (h + 1) / H) if H is a power of two; otherwise the slopes of the
/// next lower power, then every other slope of the next higher one.
static double slope(int64_t h, int64_t heads) {
  int64_t below = 1;
  while (below * 2 <= heads)
    below *= 2;
  double exponent =
      h < below ? -8.0 * static_cast<double>(h + 1) / static_cast<double>(below)
                : -4.0 * static_cast<double>(2 * (h - below) + 1) / static_cast<double>(below);
  return static_cast<float>(std::exp2(exponent));
}

static Expected<ScoreRule> alibi(BiasAlibiOp op, const Extents &extents, const Lookup &lookup) {
  Offset offset = HEDDLE_TRY(offsetOf(op, op.getOffset(), extents, lookup));
  double factor = op.getFactor().convertToDouble();
  return ScoreRule([offset, factor, heads = extents.heads](const Pair &p) -> double {
    auto distance = static_cast<double>(std::abs(p.j - (p.i + offset(p))));
    return static_cast<float>(-factor * slope(p.h, heads) * distance);
  });
}

/// T5's bucket of a distance in one direction: exact for half of the buckets, logarithmic for
/// larger distances.
static int64_t bucket(int64_t distance, int64_t buckets, int64_t maxDistance) {
  int64_t exact = buckets / 2;
  if (distance < exact)
    return distance;
  float ratio =
      std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
      static_cast<float>(std::log(static_cast<double>(maxDistance) / static_cast<double>(exact)));
  auto beyond = static_cast<int64_t>(ratio * static_cast<float>(buckets - exact));
  return std::min(buckets - 1, exact + beyond);
}

static Expected<ScoreRule> relative(BiasRelativeOp op, const Extents &extents,
                                    const Lookup &lookup) {
  Offset offset = HEDDLE_TRY(offsetOf(op, op.getOffset(), extents, lookup));
  const RefTensor &table = lookup(op.getTable());
  bool both = op.getBidirectional();
  int64_t buckets = both ? table.shape[0] / 2 : table.shape[0],
          furthest = static_cast<int64_t>(op.getMaxDistance());
  return ScoreRule([=, &table, offset = offset](const Pair &p) {
    int64_t ahead = p.j - (p.i + offset(p));
    int64_t row = both ? (ahead > 0 ? buckets : 0) + bucket(std::abs(ahead), buckets, furthest)
                       : bucket(std::max<int64_t>(0, -ahead), buckets, furthest);
    return table.values[row * table.shape[1] + p.h];
  });
}

static Expected<ScoreRule> dense(BiasDenseOp op, const Extents &x, const Lookup &lookup) {
  const RefTensor &table = lookup(op.getTable());
  HEDDLE_TRY(checkPairs(op, table, x));
  return ScoreRule([&table](const Pair &p) { return entryAt(table, p.b, p.h, p.i, p.j); });
}

/// DeBERTa's terms: the entry for the distance in the query's or the key's row of the table. The
/// distance is clamped to the row's entries.
static Expected<ScoreRule> distance(BiasDistanceOp op, const Extents &x, const Lookup &lookup) {
  const RefTensor &table = lookup(op.getTable());
  bool keys = op.getOfKeys();
  if (int64_t rows = keys ? x.keys : x.queries; table.shape[2] != rows)
    return errorAt(op, "expected a table of " + std::to_string(rows) + " rows, found " +
                           std::to_string(table.shape[2]));
  return ScoreRule([&table, keys](const Pair &p) {
    int64_t columns = table.shape[3], reach = columns / 2;
    int64_t place = std::clamp<int64_t>(p.i - p.j, -reach, reach - 1) + reach;
    int64_t row = keys ? p.firstKey + p.j : p.firstQuery + p.i;
    int64_t matrix = p.batch * table.shape[1] + p.h;
    return table.values[(matrix * table.shape[2] + row) * columns + place];
  });
}

static Expected<ScoreRule> sum(BiasAddOp op, const Extents &extents, const Lookup &lookup) {
  Expected<ScoreRule> l = scoreRule(op.getLhs(), extents, lookup),
                      r = scoreRule(op.getRhs(), extents, lookup);
  if (!l || !r)
    return l ? std::move(r) : std::move(l);
  return ScoreRule([l = *l, r = *r](const Pair &p) -> double {
    return static_cast<float>(l(p)) + static_cast<float>(r(p));
  });
}

Expected<ScoreRule> scoreRule(Value bias, const Extents &x, const Lookup &lookup) {
  using Made = Expected<ScoreRule>;
  return llvm::TypeSwitch<Operation *, Made>(bias.getDefiningOp())
      .Case([&](BiasAlibiOp op) { return alibi(op, x, lookup); })
      .Case([&](BiasRelativeOp op) { return relative(op, x, lookup); })
      .Case([&](BiasDenseOp op) { return dense(op, x, lookup); })
      .Case([&](BiasDistanceOp op) { return distance(op, x, lookup); })
      .Case([&](BiasWhereOp op) { return formula(op, lookup); })
      .Case([&](BiasAddOp op) { return sum(op, x, lookup); })
      .Default([](Operation *op) -> Made {
        return errorAt(op, "expected a score rule that the reference supports, found another one");
      });
}

} // namespace heddle::reference
