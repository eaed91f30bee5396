//===- ScoreRules.cpp - Rules of attention scores -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Base-2 scores from products of queries and keys: scale, soft-cap, bias, and the limits that keep
// scores finite.

#include "AttentionScores.h"

#include "heddle/Dialect/Transformer/IR/ScoreTables.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

/// Clamps finite scores to +-2^100. The lowest float, a common mask value, would overflow when it
/// is multiplied by log2 e.
Value Scores::clampFinite(Value score) {
  Value limited = t.max(t.min(score, t.constant(0x1p+100, score)), t.constant(-0x1p+100, score));
  auto bits = cast<RankedTensorType>(score.getType()).clone(t.b.getI32Type());
  Value pattern = arith::BitcastOp::create(t.b, t.loc, bits, score);
  Value exponent = t.constantI(0x7f800000, pattern);
  Value finite =
      arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ne,
                            arith::AndIOp::create(t.b, t.loc, pattern, exponent), exponent);
  return t.select(finite, limited, score);
}

/// Minus infinity counts as hidden regardless of its origin; NaN is kept.
Value Scores::hideNegativeInfinity(Value score) {
  Value hidden = t.constant(maskedScore, score);
  return t.select(t.less(score, hidden), hidden, score);
}

/// Returns the rule's entry for bucket `x` of a head, broadcast to the tile.
static Value bucketEntry(TileBuilder &t, BiasRelativeOp rule, MaskSite &site, int64_t x) {
  Value bucket = arith::ConstantIntOp::create(t.b, t.loc, x, 32);
  return site.splat(t.b, site.perHead(t.b, rule.getTable(), bucket));
}

/// j - (i + offset) for the last query and first key of a tile, and for the first query and last
/// key.
static std::pair<Value, Value> distances(TileBuilder &t, BiasRelativeOp rule, MaskSite &site,
                                         Value i, Value j, int64_t queries, int64_t keys) {
  Value offset = rule.getOffset();
  offset = !offset                             ? site.defaultOffset(t.b)
           : isa<ShapedType>(offset.getType()) ? site.perBatch(t.b, offset)
                                               : site.scalar(t.b, offset);
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(t.b, t.loc, value, 32);
  };
  constexpr int64_t most = int64_t(1) << 30; // the rule's own limit
  offset = t.max(t.min(offset, number(most - 1)), number(-most));
  Value corner = t.sub(t.sub(t.i32(j), t.i32(i)), offset);
  return {t.sub(corner, number(queries - 1)), t.add(corner, number(keys - 1))};
}

/// Relative bias of a tile. If all keys are far before or far after the queries, one bucket
/// contains them, and no element selects its own.
Value Scores::relativeTile(BiasRelativeOp rule, MaskSite &site, Value i, Value j,
                           RankedTensorType type) {
  int64_t buckets = cast<RankedTensorType>(rule.getTable().getType()).getDimSize(0);
  bool two = rule.getBidirectional();
  int64_t each = two ? buckets / 2 : buckets;
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(t.b, t.loc, value, 32);
  };
  int64_t far = bucketStarts(each, rule.getMaxDistance()).back();
  int64_t queries = type.getDimSize(0), keys = type.getDimSize(1);
  if (rowsAreKeys())
    std::swap(queries, keys);
  auto [nearest, farthest] = distances(t, rule, site, i, j, queries, keys);
  Value behind = t.less(farthest, number(1 - far)),
        ahead = t.less(number(two ? far - 1 : -1), nearest);
  auto choice = [&](Value condition, function_ref<Value()> yes, function_ref<Value()> no) {
    auto branch = scf::IfOp::create(t.b, t.loc, TypeRange(type), condition, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(t.b, t.loc, yes());
    t.b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(t.b, t.loc, no());
    return branch.getResult(0);
  };
  return choice(
      arith::OrIOp::create(t.b, t.loc, behind, ahead),
      [&] {
        return t.select(t.broadcast(behind, type.clone(t.b.getI1Type())),
                        bucketEntry(t, rule, site, each - 1),
                        bucketEntry(t, rule, site, two ? buckets - 1 : 0));
      },
      [&] { return rule.emitScore(t.b, site); });
}

/// Applies the score rule to a tile that starts at query i and key j.
Value Scores::ruleTile(Value bias, MaskSite &site, Value i, Value j, RankedTensorType type) {
  if (auto sum = bias.getDefiningOp<BiasAddOp>())
    return t.add(ruleTile(sum.getLhs(), site, i, j, type),
                 ruleTile(sum.getRhs(), site, i, j, type));
  if (auto relative = bias.getDefiningOp<BiasRelativeOp>())
    return relativeTile(relative, site, i, j, type);
  return biasOf(bias).emitScore(t.b, site);
}

/// Converts products of queries and keys to base-2 scores.
Value Scores::withRules(Value raw, MaskSite &site, Value i, Value j) {
  // Without a rule between scale and log2 e, one multiplication by their product is enough.
  if (!rules.softcap && !rules.bias)
    return t.mul(raw, static_cast<float>(scale) * log2e);
  Value score = t.mul(raw, scale);
  if (rules.softcap) {
    double cap = rules.softcap.getValueAsDouble();
    capTile = t.tanh(t.mul(score, 1 / cap));
    score = t.mul(capTile, cap);
  }
  if (rules.bias) {
    biasTile = ruleTile(rules.bias, site, i, j, cast<RankedTensorType>(raw.getType()));
    score = clampFinite(t.add(score, biasTile));
  }
  return t.mul(score, log2e);
}
