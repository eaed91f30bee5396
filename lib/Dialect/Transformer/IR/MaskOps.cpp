//===- MaskOps.cpp - Predicates and bounds of the mask ops ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicates of mask ops on a tile of (i, j), their bounds over a tile, and the
// band of keys if the mask is one. All code is arith on i32 and i1, on scalars
// or tiles.

#include "MaskArith.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

//===- Bands: causal, window, lengths, prefix, packed documents ----------===//

/// Emits one comparison for each bound of the band, or true if there is none.
Value heddle::transformer::emitBand(OpBuilder &b, MaskSite &site, const KeyBand &band) {
  MaskArith a{b, site.loc()};
  Value truth;
  auto require = [&](Value condition) { truth = truth ? a.both(truth, condition) : condition; };
  Value j = site.columnIndices(b);
  if (band.low)
    require(a.atMost(site.splat(b, band.low), j));
  if (band.high)
    require(a.less(j, site.splat(b, band.high)));
  if (band.relativeLow || band.relativeHigh) {
    Value ahead = a.sub(j, site.rowIndices(b));
    if (band.relativeLow)
      require(a.atMost(site.splat(b, band.relativeLow), ahead));
    if (band.relativeHigh)
      require(a.atMost(ahead, site.splat(b, band.relativeHigh)));
  }
  return truth ? truth : site.splat(b, a.i1(true));
}

/// j - i <= offset.
std::optional<KeyBand> MaskCausalOp::keyRange(OpBuilder &b, MaskSite &site) {
  MaskArith a{b, site.loc()};
  return KeyBand{{}, {}, {}, a.limit(offsetValue(b, site, getOffset()))};
}

/// offset - before <= j - i <= offset + after, with sums that saturate instead of wrapping.
std::optional<KeyBand> MaskWindowOp::keyRange(OpBuilder &b, MaskSite &site) {
  MaskArith a{b, site.loc()};
  constexpr int64_t least = std::numeric_limits<int32_t>::min(),
                    most = std::numeric_limits<int32_t>::max();
  int64_t before = getBefore(), after = getAfter();
  Value offset = offsetValue(b, site, getOffset());
  Value low = a.sub(a.max(offset, a.i32(least + before)), a.i32(before));
  Value high = a.add(a.min(offset, a.i32(most - after)), a.i32(after));
  return KeyBand{{}, {}, a.limit(low), a.limit(high)};
}

/// j < lengths[b].
std::optional<KeyBand> MaskLengthsOp::keyRange(OpBuilder &b, MaskSite &site) {
  MaskArith a{b, site.loc()};
  return KeyBand{{}, a.limit(site.perBatch(b, getLengths())), {}, {}};
}

/// j < prefix[b].
std::optional<KeyBand> MaskPrefixOp::keyRange(OpBuilder &b, MaskSite &site) {
  MaskArith a{b, site.loc()};
  return KeyBand{{}, a.limit(site.perBatch(b, getPrefix())), {}, {}};
}

//===- documents ---------------------------------------------------------===//

/// Under packed documents the site's coordinates are within one document, in which every key is
/// allowed.
std::optional<KeyBand> MaskDocumentsOp::keyRange(OpBuilder &, MaskSite &) {
  return getStarts() ? std::optional(KeyBand()) : std::nullopt;
}

Value MaskDocumentsOp::emitPredicate(OpBuilder &b, MaskSite &site) {
  if (getStarts())
    return emitBand(b, site, KeyBand());
  MaskArith a{b, site.loc()};
  Value first = getOffset() ? a.limit(offsetValue(b, site, getOffset())) : Value();
  return a.equal(site.lookupRow(b, getQueries(), first), site.lookupColumn(b, getKeys()));
}

/// Compares the ranges of ids of the tile's queries and keys. A match is possible if they overlap,
/// and certain if both are one equal id.
TileTruth MaskDocumentsOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &t) {
  if (getStarts())
    return boundOf(b, site.loc(), KeyBand(), t);
  MaskArith a{b, site.loc()};
  Value from = t.i0, to = t.i1;
  if (getOffset()) {
    Value first = a.limit(offsetValue(b, site, getOffset()));
    from = a.add(from, first);
    to = a.add(to, first);
  }
  auto [ql, qh] = site.tableRange(b, getQueries(), from, to);
  auto [kl, kh] = site.tableRange(b, getKeys(), t.j0, t.j1);
  return {a.both(a.atMost(ql, kh), a.atMost(kl, qh)), a.both(a.equal(ql, kh), a.equal(kl, qh))};
}

//===- dense: a table, nothing is known of a tile ------------------------===//

Value MaskDenseOp::emitPredicate(OpBuilder &b, MaskSite &site) { return site.dense(b, getTable()); }

TileTruth MaskDenseOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &) {
  MaskArith a{b, site.loc()};
  return {a.i1(true), a.i1(false)};
}

//===- blocks ------------------------------------------------------------===//

Value MaskBlocksOp::emitPredicate(OpBuilder &b, MaskSite &site) {
  MaskArith a{b, site.loc()};
  Value i = site.rowIndices(b), j = site.columnIndices(b);
  return site.block(b, getTable(), a.divide(i, a.integer(getRows(), i)),
                    a.divide(j, a.integer(getColumns(), j)));
}

/// Reads every block that the tile touches.
TileTruth MaskBlocksOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &t) {
  Location loc = site.loc();
  MaskArith a{b, loc};
  Value one = a.i32(1), rows = a.i32(getRows()), columns = a.i32(getColumns());
  auto from = [&](Value first, Value size) { return a.divide(first, size); };
  auto to = [&](Value end, Value size) { return a.add(a.divide(a.sub(end, one), size), one); };
  SmallVector<Value> start{a.i1(false), a.i1(true)};
  auto rowLoop = scf::ForOp::create(b, loc, from(t.i0, rows), to(t.i1, rows), one, start);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(rowLoop.getBody());
  auto keyLoop = scf::ForOp::create(b, loc, from(t.j0, columns), to(t.j1, columns), one,
                                    rowLoop.getRegionIterArgs());
  scf::YieldOp::create(b, loc, keyLoop.getResults());
  b.setInsertionPointToStart(keyLoop.getBody());
  Value allowed = site.block(b, getTable(), rowLoop.getInductionVar(), keyLoop.getInductionVar());
  scf::YieldOp::create(b, loc,
                       ValueRange{a.either(keyLoop.getRegionIterArg(0), allowed),
                                  a.both(keyLoop.getRegionIterArg(1), allowed)});
  return {rowLoop.getResult(0), rowLoop.getResult(1)};
}

//===- and, or, not ------------------------------------------------------===//

/// Emits one test of the intersection of all bands, then the other conjuncts.
Value MaskAndOp::emitPredicate(OpBuilder &b, MaskSite &site) {
  MaskArith a{b, site.loc()};
  KeyBand band;
  SmallVector<MaskOpInterface> others;
  for (MaskOpInterface conjunct : conjunctsOf(getResult()))
    if (std::optional<KeyBand> part = site.keyRangeOf(b, conjunct->getResult(0)))
      band = intersect(b, site.loc(), band, *part);
    else
      others.push_back(conjunct);
  Value truth = band.isEverything() && !others.empty() ? Value() : emitBand(b, site, band);
  for (MaskOpInterface other : others) {
    Value part = site.predicateOf(b, other->getResult(0));
    truth = truth ? a.both(truth, part) : part;
  }
  return truth;
}

TileTruth MaskAndOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &t) {
  return boundOf(getResult(), b, site, t);
}

/// A band if all conjuncts are bands.
std::optional<KeyBand> MaskAndOp::keyRange(OpBuilder &b, MaskSite &site) {
  KeyBand band;
  for (MaskOpInterface conjunct : conjunctsOf(getResult())) {
    std::optional<KeyBand> part = site.keyRangeOf(b, conjunct->getResult(0));
    if (!part)
      return std::nullopt;
    band = intersect(b, site.loc(), band, *part);
  }
  return band;
}

Value MaskOrOp::emitPredicate(OpBuilder &b, MaskSite &site) {
  MaskArith a{b, site.loc()};
  return a.either(site.predicateOf(b, getLhs()), site.predicateOf(b, getRhs()));
}

TileTruth MaskOrOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &t) {
  MaskArith a{b, site.loc()};
  TileTruth l = site.boundOf(b, getLhs(), t), r = site.boundOf(b, getRhs(), t);
  return {a.either(l.may, r.may), a.either(l.must, r.must)};
}

Value MaskNotOp::emitPredicate(OpBuilder &b, MaskSite &site) {
  return MaskArith{b, site.loc()}.negate(site.predicateOf(b, getMask()));
}

TileTruth MaskNotOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &t) {
  MaskArith a{b, site.loc()};
  TileTruth m = site.boundOf(b, getMask(), t);
  return {a.negate(m.must), a.negate(m.may)};
}

/// The complement of a band with one bound is a band with one bound.
std::optional<KeyBand> MaskNotOp::keyRange(OpBuilder &b, MaskSite &site) {
  std::optional<KeyBand> band = site.keyRangeOf(b, getMask());
  if (!band ||
      bool(band->low) + bool(band->high) + bool(band->relativeLow) + bool(band->relativeHigh) != 1)
    return std::nullopt;
  MaskArith a{b, site.loc()};
  if (band->low)
    return KeyBand{{}, band->low, {}, {}};
  if (band->high)
    return KeyBand{band->high, {}, {}, {}};
  // Differences are strictly between -2^30 and 2^30 - 1, so clamping a bound that moved by one
  // loses nothing.
  if (band->relativeLow)
    return KeyBand{{}, {}, {}, a.limit(a.sub(band->relativeLow, a.i32(1)))};
  return KeyBand{{}, {}, a.limit(a.add(band->relativeHigh, a.i32(1))), {}};
}

//===- Limits of values --------------------------------------------------===//

/// The attention in the group of a mask.
static ScoresOpInterface scoresBeside(Operation *mask) {
  for (Operation &op : *mask->getBlock())
    if (auto scores = dyn_cast<ScoresOpInterface>(op))
      return scores;
  llvm_unreachable("masks are read by attention");
}

/// Lengths are at most the number of keys; under packed documents, of the keys of one document.
void MaskLengthsOp::limitValues(OpOperand &, ValueLimits &limits) {
  limits.addBelow(limits.shapes.of(scoresBeside(*this).getKey())[2] + 1);
  for (auto documents : (*this)->getBlock()->getOps<MaskDocumentsOp>())
    if (documents.getStarts())
      limits.addWithin(documents.getKeys());
}

/// Starts of documents are at least 0 and at most the number of rows.
void MaskDocumentsOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  if (!getStarts())
    return;
  ScoresOpInterface scores = scoresBeside(*this);
  Value rows = &operand == &getKeysMutable() ? scores.getKey() : scores.getQuery();
  limits.addStarts(limits.shapes.of(rows)[2] + 1);
}
