//===- MaskOps.cpp - Truth and bounds of the mask ops ---------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each mask op: its predicate on a tile of (i, j), the bounds of that
// predicate over a tile, and the range of keys it leaves to a range of rows.
// Everything is emitted as arith on i32 and i1, scalars or tiles.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle::transformer;
using arith::CmpIPredicate;

namespace {
/// Small words for the arithmetic below.
struct Arith {
  OpBuilder &b;
  Location loc;

  Value constant(int64_t v) { return arith::ConstantIntOp::create(b, loc, v, 32); }
  Value truth(bool v) { return arith::ConstantIntOp::create(b, loc, v, 1); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value min(Value x, Value y) { return arith::MinSIOp::create(b, loc, x, y); }
  Value max(Value x, Value y) { return arith::MaxSIOp::create(b, loc, x, y); }
  Value less(Value x, Value y) { return compare(CmpIPredicate::slt, x, y); }
  Value atMost(Value x, Value y) { return compare(CmpIPredicate::sle, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value negate(Value x) {
    Value ones = arith::ConstantOp::create(
        b, loc,
        cast<TypedAttr>(isa<ShapedType>(x.getType())
                            ? Attribute(DenseElementsAttr::get(cast<ShapedType>(x.getType()), true))
                            : Attribute(b.getBoolAttr(true))));
    return arith::XOrIOp::create(b, loc, x, ones);
  }
  Value compare(CmpIPredicate p, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, p, x, y);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// causal: j - i <= offset
//===----------------------------------------------------------------------===//

/// The offset, clamped to +-2^30 so that sums with coordinates cannot wrap.
static Value causalOffset(Arith &a, MaskSite &site, MaskCausalOp op) {
  Value offset = op.getOffset();
  if (!offset) // the queries are the last of the keys
    return site.defaultOffset(a.b);
  Value limit = a.constant(1 << 30);
  Value value =
      isa<ShapedType>(offset.getType()) ? site.perBatch(a.b, offset) : site.scalar(a.b, offset);
  return a.max(a.min(value, limit), a.constant(-(1 << 30)));
}

Value MaskCausalOp::emitPredicate(OpBuilder &b, MaskSite &site) {
  Arith a{b, site.loc()};
  Value ahead = a.sub(site.columnIndices(b), site.rowIndices(b));
  return a.atMost(ahead, site.splat(b, causalOffset(a, site, *this)));
}

TileTruth MaskCausalOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &t) {
  Arith a{b, site.loc()};
  Value offset = causalOffset(a, site, *this);
  // The corner with the smallest j - i, and the one with the largest.
  return {a.less(a.sub(t.j0, t.i1), offset),
          a.less(a.sub(a.sub(t.j1, t.i0), offset), a.constant(2))};
}

KeyRange MaskCausalOp::keyRange(OpBuilder &b, MaskSite &site, Value i0, Value i1) {
  Arith a{b, site.loc()};
  return {a.constant(0), a.min(site.keyCount(b), a.add(i1, causalOffset(a, site, *this)))};
}

//===----------------------------------------------------------------------===//
// lengths: j < lengths[b]
//===----------------------------------------------------------------------===//

Value MaskLengthsOp::emitPredicate(OpBuilder &b, MaskSite &site) {
  Arith a{b, site.loc()};
  return a.less(site.columnIndices(b), site.splat(b, site.perBatch(b, getLengths())));
}

TileTruth MaskLengthsOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &t) {
  Arith a{b, site.loc()};
  Value length = site.perBatch(b, getLengths());
  return {a.less(t.j0, length), a.atMost(t.j1, length)};
}

KeyRange MaskLengthsOp::keyRange(OpBuilder &b, MaskSite &site, Value i0, Value i1) {
  Arith a{b, site.loc()};
  return {a.constant(0), a.min(site.keyCount(b), site.perBatch(b, getLengths()))};
}

//===----------------------------------------------------------------------===//
// dense: a table, nothing is known of a tile
//===----------------------------------------------------------------------===//

Value MaskDenseOp::emitPredicate(OpBuilder &b, MaskSite &site) { return site.dense(b, getTable()); }

TileTruth MaskDenseOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &) {
  Arith a{b, site.loc()};
  return {a.truth(true), a.truth(false)};
}

//===----------------------------------------------------------------------===//
// and, not
//===----------------------------------------------------------------------===//

Value MaskAndOp::emitPredicate(OpBuilder &b, MaskSite &site) {
  Arith a{b, site.loc()};
  return a.both(maskOf(getLhs()).emitPredicate(b, site), maskOf(getRhs()).emitPredicate(b, site));
}

TileTruth MaskAndOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &t) {
  Arith a{b, site.loc()};
  TileTruth l = maskOf(getLhs()).bound(b, site, t), r = maskOf(getRhs()).bound(b, site, t);
  return {a.both(l.may, r.may), a.both(l.must, r.must)};
}

KeyRange MaskAndOp::keyRange(OpBuilder &b, MaskSite &site, Value i0, Value i1) {
  Arith a{b, site.loc()};
  KeyRange l = maskOf(getLhs()).keyRange(b, site, i0, i1),
           r = maskOf(getRhs()).keyRange(b, site, i0, i1);
  return {a.max(l.low, r.low), a.min(l.high, r.high)};
}

Value MaskNotOp::emitPredicate(OpBuilder &b, MaskSite &site) {
  return Arith{b, site.loc()}.negate(maskOf(getMask()).emitPredicate(b, site));
}

TileTruth MaskNotOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &t) {
  Arith a{b, site.loc()};
  TileTruth m = maskOf(getMask()).bound(b, site, t);
  return {a.negate(m.must), a.negate(m.may)};
}
