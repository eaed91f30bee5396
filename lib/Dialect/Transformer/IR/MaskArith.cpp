//===- MaskArith.cpp - Arithmetic that masks emit -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Divisions and shifts that are defined for all operands. Remainders are
// computed from quotients, because some devices leave remainders of negative
// numbers undefined.

#include "MaskArith.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace heddle::transformer;

/// `attribute` as a constant of the element type of `like`, splat if `like` is a tile.
static Value constantLike(OpBuilder &b, Location loc, TypedAttr attribute, Value like) {
  auto tile = dyn_cast<ShapedType>(like.getType());
  return arith::ConstantOp::create(
      b, loc,
      tile ? TypedAttr(DenseElementsAttr::get(tile, ArrayRef<Attribute>(attribute))) : attribute);
}

Value MaskArith::integer(int64_t v, Value like) {
  auto type = cast<IntegerType>(getElementTypeOrSelf(like));
  APInt number(type.getWidth(), static_cast<uint64_t>(v), /*isSigned=*/true,
               /*implicitTrunc=*/true);
  return constantLike(b, loc, b.getIntegerAttr(type, number), like);
}

Value MaskArith::real(float v, Value like) {
  return constantLike(b, loc, b.getF32FloatAttr(v), like);
}

/// The number of a scalar or splat constant.
static std::optional<int64_t> constantOf(Value v) {
  APInt number;
  if (matchPattern(v, m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

Value MaskArith::safeDivisor(Value x, Value y) {
  if (std::optional<int64_t> number = constantOf(y); number && *number != 0 && *number != -1)
    return y;
  Value least = integer(std::numeric_limits<int32_t>::min(), x), minusOne = integer(-1, y);
  Value wraps = both(equal(x, least), equal(y, minusOne));
  return select(either(equal(y, integer(0, y)), wraps), integer(1, y), y);
}

Value MaskArith::divide(Value x, Value y) {
  Value q = arith::DivSIOp::create(b, loc, x, safeDivisor(x, y));
  if (std::optional<int64_t> number = constantOf(y); number && *number != 0)
    return q;
  return select(equal(y, integer(0, y)), integer(0, x), q);
}

std::pair<Value, Value> MaskArith::quotient(Value x, Value y) {
  Value q = divide(x, y), r = sub(x, mul(q, y));
  return {q, r};
}

Value MaskArith::remainder(Value x, Value y) {
  Value r = quotient(x, y).second;
  if (std::optional<int64_t> number = constantOf(y); number && *number != 0)
    return r;
  return select(equal(y, integer(0, y)), integer(0, x), r);
}

Value MaskArith::divideFloor(Value x, Value y) {
  if (std::optional<int64_t> n = constantOf(y); n && *n > 0 && llvm::isPowerOf2_64(*n))
    return arith::ShRSIOp::create(b, loc, x, integer(llvm::Log2_64(*n), x));
  auto [q, r] = quotient(x, y);
  Value zero = integer(0, x);
  // With a divisor of 0 the remainder has the sign of x, but y has no sign; the next line handles
  // this case.
  Value uneven = both(compare(Order::ne, r, zero), less(differ(r, y), zero));
  uneven = both(uneven, compare(Order::ne, y, zero));
  return select(uneven, sub(q, integer(1, q)), q);
}

Value MaskArith::divideCeil(Value x, Value y) {
  auto [q, r] = quotient(x, y);
  Value zero = integer(0, x);
  Value uneven = both(compare(Order::ne, r, zero), compare(Order::sge, differ(r, y), zero));
  uneven = both(uneven, compare(Order::ne, y, zero));
  return select(uneven, add(q, integer(1, q)), q);
}

std::pair<Value, Value> MaskArith::shiftInRange(Value by) {
  Value inside = compare(Order::ult, by, integer(32, by));
  return {inside, select(inside, by, integer(0, by))};
}

Value MaskArith::shiftLeft(Value x, Value by) {
  auto [inside, count] = shiftInRange(by);
  return select(inside, arith::ShLIOp::create(b, loc, x, count), integer(0, x));
}

/// Limits the shift count to 31, which yields the sign.
Value MaskArith::shiftRight(Value x, Value by) {
  Value inside = compare(Order::ult, by, integer(32, by));
  return arith::ShRSIOp::create(b, loc, x, select(inside, by, integer(31, by)));
}

Value MaskArith::shiftRightUnsigned(Value x, Value by) {
  auto [inside, count] = shiftInRange(by);
  return select(inside, arith::ShRUIOp::create(b, loc, x, count), integer(0, x));
}

Value heddle::transformer::offsetValue(OpBuilder &b, MaskSite &site, Value operand) {
  if (!operand) // the queries are the last keys
    return site.defaultOffset(b);
  return isa<ShapedType>(operand.getType()) ? site.perBatch(b, operand) : site.scalar(b, operand);
}
