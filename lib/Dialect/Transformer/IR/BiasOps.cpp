//===- BiasOps.cpp - Score rules ------------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Score rules, emitted on a tile. Slopes and bucket starts are computed here
// once for all targets, in the precision that PyTorch models use.

#include "MaskArith.h"

#include "heddle/Dialect/Transformer/IR/ScoreTables.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

//===- Tables ------------------------------------------------------------===//

SmallVector<float> heddle::transformer::alibiSlopes(int64_t heads) {
  int64_t power = int64_t(1) << llvm::Log2_64(heads);
  auto slope = [](int64_t n, int64_t h) {
    return static_cast<float>(
        std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(n)));
  };
  SmallVector<float> slopes;
  for (int64_t h = 0; h < heads; ++h)
    slopes.push_back(h < power ? slope(power, h) : slope(2 * power, 2 * (h - power)));
  return slopes;
}

SmallVector<int32_t> heddle::transformer::bucketStarts(int64_t buckets, int64_t maxDistance) {
  int64_t exact = buckets / 2;
  float range =
      static_cast<float>(std::log(static_cast<double>(maxDistance) / static_cast<double>(exact)));
  auto bucket = [&](int64_t distance) {
    float ratio = std::log(static_cast<float>(distance) / static_cast<float>(exact)) / range;
    return std::min(buckets - 1,
                    exact + static_cast<int64_t>(ratio * static_cast<float>(buckets - exact)));
  };
  SmallVector<int32_t> starts;
  for (int64_t k = 0; k <= exact; ++k)
    starts.push_back(static_cast<int32_t>(k));
  // Find the first distance of each bucket by bisection, since buckets grow with the distance.
  for (int64_t k = exact + 1; k < buckets; ++k) {
    int64_t low = starts.back(), high = maxDistance;
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (bucket(middle) >= k)
        high = middle;
      else
        low = middle + 1;
    }
    starts.push_back(static_cast<int32_t>(low));
  }
  return starts;
}

//===- alibi, relative ---------------------------------------------------===//

/// j - (i + offset) on the tile. The offset is limited to +-2^30, so that sums with coordinates do
/// not wrap.
static Value ahead(OpBuilder &b, MaskSite &site, Value offset) {
  MaskArith a{b, site.loc()};
  Value difference = a.sub(site.columnIndices(b), site.rowIndices(b));
  return a.sub(difference, site.splat(b, a.limit(offsetValue(b, site, offset))));
}

/// Selects one of `numbers` by the scalar `x`, in a tree of selects.
static Value choose(MaskArith &a, Value x, ArrayRef<float> numbers, int64_t first = 0) {
  if (llvm::all_equal(numbers))
    return arith::ConstantOp::create(a.b, a.loc, a.b.getF32FloatAttr(numbers[0]));
  size_t half = numbers.size() / 2;
  Value low = choose(a, x, numbers.take_front(half), first),
        high = choose(a, x, numbers.drop_front(half), first + half);
  return a.select(a.less(x, a.i32(first + half)), low, high);
}

/// Converts an i32 tile to f32.
static Value toReal(MaskArith &a, Value tile) {
  return arith::SIToFPOp::create(a.b, a.loc,
                                 cast<ShapedType>(tile.getType()).clone(a.b.getF32Type()), tile);
}

Value BiasAlibiOp::emitScore(OpBuilder &b, MaskSite &site) {
  MaskArith a{b, site.loc()};
  Value distance = ahead(b, site, getOffset());
  distance = a.max(distance, a.sub(a.integer(0, distance), distance));
  float factor = getFactor().convertToFloat();
  SmallVector<float> slopes = llvm::map_to_vector(alibiSlopes(site.headCount()),
                                                  [&](float slope) { return -factor * slope; });
  return arith::MulFOp::create(b, site.loc(), toReal(a, distance),
                               site.splat(b, choose(a, site.head(b), slopes)));
}

LogicalResult BiasAlibiOp::verify() {
  if (!getFactor().isFinite() || getFactor().isZero() || getFactor().isNegative())
    return emitOpError("C3: expected a finite factor above 0, found ")
           << getFactor().convertToFloat();
  return success();
}

/// table[first + k, h], for the bucket k that holds `distance`.
static Value emitBuckets(MaskArith &a, MaskSite &site, Value table, Value distance,
                         ArrayRef<int32_t> starts, int64_t first) {
  Value result = site.splat(a.b, site.perHead(a.b, table, a.i32(first)));
  for (auto [k, start] : llvm::enumerate(starts.drop_front())) {
    Value entry =
        site.splat(a.b, site.perHead(a.b, table, a.i32(first + static_cast<int64_t>(k) + 1)));
    result = a.select(a.less(distance, a.integer(start, distance)), result, entry);
  }
  return result;
}

Value BiasRelativeOp::emitScore(OpBuilder &b, MaskSite &site) {
  MaskArith a{b, site.loc()};
  int64_t buckets = cast<RankedTensorType>(getTable().getType()).getDimSize(0);
  Value forward = ahead(b, site, getOffset()), zero = a.integer(0, forward),
        backward = a.sub(zero, forward);
  if (!getBidirectional())
    return emitBuckets(a, site, getTable(), backward, bucketStarts(buckets, getMaxDistance()), 0);
  SmallVector<int32_t> starts = bucketStarts(buckets / 2, getMaxDistance());
  Value behind = emitBuckets(a, site, getTable(), backward, starts, 0);
  Value beyond = emitBuckets(a, site, getTable(), forward, starts, buckets / 2);
  return a.select(a.less(zero, forward), beyond, behind);
}

LogicalResult BiasRelativeOp::verify() {
  int64_t buckets = cast<RankedTensorType>(getTable().getType()).getDimSize(0);
  bool two = getBidirectional();
  if (buckets < (two ? 4 : 2) || (two && buckets % 2))
    return emitOpError("C3: expected a table of ")
           << (two ? "an even number of rows, at least 4" : "at least 2 rows")
           << ", one a bucket, found " << buckets;
  int64_t exact = (two ? buckets / 2 : buckets) / 2, distance = getMaxDistance();
  if (distance <= exact || distance >= int64_t(1) << 30)
    return emitOpError("C4: expected max_distance above ")
           << exact << " and below " << (int64_t(1) << 30) << ", found " << distance;
  return success();
}

//===- distance ----------------------------------------------------------===//

Value BiasDistanceOp::emitScore(OpBuilder &b, MaskSite &site) {
  MaskArith a{b, site.loc()};
  Value rows = site.rowIndices(b), columns = site.columnIndices(b);
  int64_t reach = getTable().getType().getDimSize(3) / 2;
  Value place = a.add(a.sub(rows, columns), a.integer(reach, rows));
  place = a.max(a.min(place, a.integer(2 * reach - 1, place)), a.integer(0, place));
  return site.ofRow(b, getTable(), getOfKeys(), place);
}

LogicalResult BiasDistanceOp::verify() {
  if (int64_t columns = getTable().getType().getDimSize(3); columns % 2)
    return emitOpError("C2: expected an even number of columns in table, found ") << columns;
  return success();
}

//===- dense, add --------------------------------------------------------===//

Value BiasDenseOp::emitScore(OpBuilder &b, MaskSite &site) { return site.dense(b, getTable()); }

LogicalResult BiasDenseOp::verify() {
  if (int64_t rank = cast<RankedTensorType>(getTable().getType()).getRank(); rank != 4)
    return emitOpError(
               "C2: expected table of rank 4 [batch|1, heads|1, queries|1, keys|1], found rank ")
           << rank;
  return success();
}

Value BiasAddOp::emitScore(OpBuilder &b, MaskSite &site) {
  return arith::AddFOp::create(b, site.loc(), biasOf(getLhs()).emitScore(b, site),
                               biasOf(getRhs()).emitScore(b, site));
}

bool BiasRelativeOp::takesWeight(OpOperand &operand) { return &operand == &getTableMutable(); }
