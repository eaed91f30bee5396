//===- MaskInterface.cpp - Interfaces of masks and rules ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interfaces of masks and rules, bands of keys, and conjunctions. The bands of
// all conjuncts are first intersected, component by component, so that one
// exact test covers them. The bounds of the other conjuncts are combined with
// its result.

#include "heddle/Dialect/Transformer/IR/MaskInterface.h"

#include "MaskArith.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

using namespace mlir;
using namespace heddle::transformer;

#include "heddle/Dialect/Transformer/IR/MaskInterface.cpp.inc"

MaskOpInterface heddle::transformer::maskOf(Value mask) {
  return cast<MaskOpInterface>(mask.getDefiningOp());
}

BiasOpInterface heddle::transformer::biasOf(Value bias) {
  return cast<BiasOpInterface>(bias.getDefiningOp());
}

//===- Memoised masks------------------------------------------------===//

template <typename T>
T MaskSite::once(llvm::DenseMap<Value, T> &known, Value mask, llvm::function_ref<T()> ask) {
  if (auto found = known.find(mask); found != known.end())
    return found->second;
  ++depth;
  T answer = ask();
  known[mask] = answer;
  if (--depth == 0) {
    predicates.clear();
    bounds.clear();
    bands.clear();
  }
  return answer;
}

Value MaskSite::predicateOf(OpBuilder &b, Value mask) {
  return once<Value>(predicates, mask, [&] { return maskOf(mask).emitPredicate(b, *this); });
}

TileTruth MaskSite::boundOf(OpBuilder &b, Value mask, const TileCorners &tile) {
  return once<TileTruth>(bounds, mask, [&] { return maskOf(mask).bound(b, *this, tile); });
}

std::optional<KeyBand> MaskSite::keyRangeOf(OpBuilder &b, Value mask) {
  return once<std::optional<KeyBand>>(bands, mask, [&] { return maskOf(mask).keyRange(b, *this); });
}

//===- Bands -------------------------------------------------------------===//

KeyBand heddle::transformer::intersect(OpBuilder &b, Location loc, const KeyBand &x,
                                       const KeyBand &y) {
  MaskArith a{b, loc};
  auto larger = [&](Value p, Value q) { return p && q ? a.max(p, q) : p ? p : q; };
  auto smaller = [&](Value p, Value q) { return p && q ? a.min(p, q) : p ? p : q; };
  return {larger(x.low, y.low), smaller(x.high, y.high), larger(x.relativeLow, y.relativeLow),
          smaller(x.relativeHigh, y.relativeHigh)};
}

/// Bounds of a band over a tile. Over the keys that the absolute bounds leave, the differences j -
/// i take every value from `nearest` to `farthest`. A pair may be allowed if this range overlaps
/// the relative bounds.
TileTruth heddle::transformer::boundOf(OpBuilder &b, Location loc, const KeyBand &band,
                                       const TileCorners &t) {
  MaskArith a{b, loc};
  Value may = a.i1(true), must = may;
  auto require = [&](Value &truth, Value condition) { truth = a.both(truth, condition); };
  Value first = band.low ? a.max(t.j0, band.low) : t.j0;
  Value end = band.high ? a.min(t.j1, band.high) : t.j1;
  if (band.low || band.high)
    require(may, a.less(first, end));
  // j - i at two corners: last row and first key, first row and last key.
  Value nearest = a.sub(first, a.sub(t.i1, a.i32(1))), farthest = a.sub(a.sub(end, a.i32(1)), t.i0);
  if (band.relativeLow)
    require(may, a.atMost(band.relativeLow, farthest));
  if (band.relativeHigh)
    require(may, a.atMost(nearest, band.relativeHigh));
  if (band.relativeLow && band.relativeHigh)
    require(may, a.atMost(band.relativeLow, band.relativeHigh));
  if (band.low)
    require(must, a.atMost(band.low, t.j0));
  if (band.high)
    require(must, a.atMost(t.j1, band.high));
  if (band.relativeLow)
    require(must, a.atMost(band.relativeLow, a.sub(t.j0, a.sub(t.i1, a.i32(1)))));
  if (band.relativeHigh)
    require(must, a.atMost(a.sub(a.sub(t.j1, a.i32(1)), t.i0), band.relativeHigh));
  return {may, must};
}

//===- Conjunctions ------------------------------------------------------===//

/// Walks the tree of `and` from left to right and visits shared conjuncts once.
SmallVector<MaskOpInterface> heddle::transformer::conjunctsOf(Value mask) {
  SmallVector<MaskOpInterface> result;
  SmallVector<Value> open{mask};
  llvm::SmallDenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto both = next.getDefiningOp<MaskAndOp>())
      open.append({both.getRhs(), both.getLhs()});
    else
      result.push_back(maskOf(next));
  }
  return result;
}

KeyBand heddle::transformer::bandOf(Value mask, OpBuilder &b, MaskSite &site) {
  KeyBand band;
  for (MaskOpInterface conjunct : conjunctsOf(mask))
    if (std::optional<KeyBand> part = site.keyRangeOf(b, conjunct->getResult(0)))
      band = intersect(b, site.loc(), band, *part);
  return band;
}

bool heddle::transformer::isBand(Value mask, OpBuilder &b, MaskSite &site) {
  return llvm::all_of(conjunctsOf(mask), [&](MaskOpInterface conjunct) {
    return site.keyRangeOf(b, conjunct->getResult(0)).has_value();
  });
}

TileTruth heddle::transformer::boundOf(Value mask, OpBuilder &b, MaskSite &site,
                                       const TileCorners &tile) {
  MaskArith a{b, site.loc()};
  KeyBand band;
  SmallVector<TileTruth> others;
  for (MaskOpInterface conjunct : conjunctsOf(mask))
    if (std::optional<KeyBand> part = site.keyRangeOf(b, conjunct->getResult(0)))
      band = intersect(b, site.loc(), band, *part);
    else
      others.push_back(site.boundOf(b, conjunct->getResult(0), tile));
  TileTruth truth = boundOf(b, site.loc(), band, tile);
  for (const TileTruth &other : others)
    truth = {a.both(truth.may, other.may), a.both(truth.must, other.must)};
  return truth;
}

MaskDocumentsOp heddle::transformer::packedDocumentsOf(Value mask) {
  if (mask)
    for (MaskOpInterface conjunct : conjunctsOf(mask))
      if (auto documents = dyn_cast<MaskDocumentsOp>(conjunct.getOperation());
          documents && documents.getStarts())
        return documents;
  return {};
}
