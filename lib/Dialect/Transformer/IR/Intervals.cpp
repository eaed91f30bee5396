//===- Intervals.cpp - Interval arithmetic as emitted code ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds of ops on intervals, sound by two rules. A function that is monotone
// on an interval is bounded by its values at the ends. A function that wraps or
// is not monotone is bounded by the range of all its values. Points are
// computed exactly, including wrapping.

#include "Intervals.h"

using namespace mlir;
using namespace heddle::transformer;

static constexpr int64_t smallest = Interval::smallest, largest = Interval::largest;

static bool fits(int64_t v) { return v >= smallest && v <= largest; }

Interval IntervalArith::constant(int64_t v) { return point(i32(v), v, v); }

Interval IntervalArith::unless(Value wraps, Interval x) {
  return {select(wraps, i32(smallest), x.low), select(wraps, i32(largest), x.high)};
}

//===- Sums and products -------------------------------------------------===//

Interval IntervalArith::sum(const Interval &x, const Interval &y) {
  int64_t least = x.least + y.least, most = x.most + y.most;
  bool inside = fits(least) && fits(most);
  if (x.isPoint() && y.isPoint())
    return inside ? point(add(x.low, y.low), least, most) : point(add(x.low, y.low));
  Interval result{add(x.low, y.low), add(x.high, y.high)};
  if (inside)
    return {result.low, result.high, least, most};
  // A sum wrapped if its sign differs from the signs of both terms.
  auto wrapped = [&](Value p, Value q, Value s) {
    return less(both(differ(p, s), differ(q, s)), i32(0));
  };
  return unless(either(wrapped(x.low, y.low, result.low), wrapped(x.high, y.high, result.high)),
                result);
}

Interval IntervalArith::difference(const Interval &x, const Interval &y) {
  int64_t least = x.least - y.most, most = x.most - y.least;
  bool inside = fits(least) && fits(most);
  if (x.isPoint() && y.isPoint())
    return inside ? point(sub(x.low, y.low), least, most) : point(sub(x.low, y.low));
  Interval result{sub(x.low, y.high), sub(x.high, y.low)};
  if (inside)
    return {result.low, result.high, least, most};
  // A difference wrapped if its terms have different signs and its own sign differs from the first
  // one's.
  auto wrapped = [&](Value p, Value q, Value d) {
    return less(both(differ(p, q), differ(p, d)), i32(0));
  };
  return unless(either(wrapped(x.low, y.high, result.low), wrapped(x.high, y.low, result.high)),
                result);
}

std::pair<Value, Value> IntervalArith::multiply(Value x, Value y) {
  auto product = arith::MulSIExtendedOp::create(b, loc, x, y);
  Value sign = arith::ShRSIOp::create(b, loc, product.getLow(), i32(31));
  return {compare(Order::ne, product.getHigh(), sign), product.getLow()};
}

/// Monotone. Wraps if an end is beyond the last number whose product fits.
Interval IntervalArith::timesConstant(const Interval &x, int64_t factor) {
  if (factor == 0)
    return constant(0);
  Value f = i32(factor);
  Interval result{mul(factor > 0 ? x.low : x.high, f), mul(factor > 0 ? x.high : x.low, f)};
  int64_t p = x.least * factor, q = x.most * factor;
  if (fits(p) && fits(q))
    return {result.low, result.high, std::min(p, q), std::max(p, q)};
  int64_t lowest = factor > 0 ? -(-smallest / factor) : -(largest / -factor);
  int64_t highest = factor > 0 ? largest / factor : -smallest / -factor;
  return unless(either(less(x.low, i32(std::max(lowest, smallest))),
                       less(i32(std::min(highest, largest)), x.high)),
                result);
}

Interval IntervalArith::product(const Interval &x, const Interval &y) {
  if (x.isPoint() && y.isPoint())
    return point(mul(x.low, y.low));
  if (std::optional<int64_t> factor = y.constant())
    return timesConstant(x, *factor);
  if (std::optional<int64_t> factor = x.constant())
    return timesConstant(y, *factor);
  int64_t ends[] = {x.least * y.least, x.least * y.most, x.most * y.least, x.most * y.most};
  int64_t least = *llvm::min_element(ends), most = *llvm::max_element(ends);
  if (fits(least) && fits(most)) {
    Value corners[] = {mul(x.low, y.low), mul(x.low, y.high), mul(x.high, y.low),
                       mul(x.high, y.high)};
    return {least4(corners), most4(corners), least, most};
  }
  auto [w0, p0] = multiply(x.low, y.low);
  auto [w1, p1] = multiply(x.low, y.high);
  auto [w2, p2] = multiply(x.high, y.low);
  auto [w3, p3] = multiply(x.high, y.high);
  Value corners[] = {p0, p1, p2, p3};
  return unless(either(either(w0, w1), either(w2, w3)), {least4(corners), most4(corners)});
}

/// Tighter than product(x, x), which has a negative lower bound for an interval around 0.
Interval IntervalArith::square(const Interval &x) {
  if (x.isPoint())
    return point(mul(x.low, x.low));
  Value zero = i32(0);
  auto [w0, low] = multiply(x.low, x.low);
  auto [w1, high] = multiply(x.high, x.high);
  Value holdsZero = both(atMost(x.low, zero), atMost(zero, x.high));
  return unless(either(w0, w1), {select(holdsZero, zero, min(low, high)), max(low, high)});
}

Interval IntervalArith::smaller(const Interval &x, const Interval &y) {
  Value low = min(x.low, y.low);
  bool points = x.isPoint() && y.isPoint();
  return {low, points ? low : min(x.high, y.high), std::min(x.least, y.least),
          std::min(x.most, y.most)};
}

Interval IntervalArith::larger(const Interval &x, const Interval &y) {
  Value low = max(x.low, y.low);
  bool points = x.isPoint() && y.isPoint();
  return {low, points ? low : max(x.high, y.high), std::max(x.least, y.least),
          std::max(x.most, y.most)};
}

//===- Quotients and remainders------------------------------------------===//

/// Quotients are monotone in x: they grow for a positive divisor and fall for a negative one. If
/// the divisor is an interval of positive numbers, the extremes are at the corners.
Interval IntervalArith::quotientBy(const Interval &x, const Interval &y,
                                   llvm::function_ref<Value(Value, Value)> divide) {
  if (x.isPoint() && y.isPoint())
    return point(divide(x.low, y.low));
  if (std::optional<int64_t> size = y.constant()) {
    if (*size == 0)
      return constant(0);
    if (*size == -1) // wraps for the smallest number, as 0 - x does
      return difference(constant(0), x);
    Value low = divide(x.low, y.low), high = divide(x.high, y.low);
    return *size > 0 ? Interval{low, high} : Interval{high, low};
  }
  Value corners[] = {divide(x.low, y.low), divide(x.low, y.high), divide(x.high, y.low),
                     divide(x.high, y.high)};
  return unless(less(y.low, i32(1)), {least4(corners), most4(corners)});
}

Interval IntervalArith::quotient(const Interval &x, const Interval &y) {
  Interval result = quotientBy(x, y, [&](Value p, Value q) { return divide(p, q); });
  if (std::optional<int64_t> size = y.constant(); size && *size > 0) {
    result.least = x.least / *size;
    result.most = x.most / *size;
  }
  return result;
}

static int64_t floorOf(int64_t x, int64_t size) {
  return x >= 0 ? x / size : -((-x + size - 1) / size);
}

Interval IntervalArith::quotientFloor(const Interval &x, const Interval &y) {
  Interval result = quotientBy(x, y, [&](Value p, Value q) { return divideFloor(p, q); });
  if (std::optional<int64_t> size = y.constant(); size && *size > 0) {
    result.least = floorOf(x.least, *size);
    result.most = floorOf(x.most, *size);
  }
  return result;
}

Interval IntervalArith::quotientCeil(const Interval &x, const Interval &y) {
  Interval result = quotientBy(x, y, [&](Value p, Value q) { return divideCeil(p, q); });
  if (std::optional<int64_t> size = y.constant(); size && *size > 0) {
    result.least = -floorOf(-x.least, *size);
    result.most = -floorOf(-x.most, *size);
  }
  return result;
}

/// Within one block of `size` numbers the remainder grows with x.
Interval IntervalArith::modulo(const Interval &x, int64_t size) {
  Value s = i32(size), first = divideFloor(x.low, s);
  Value low = sub(x.low, mul(first, s));
  if (x.isPoint())
    return point(low, 0, size - 1);
  Value last = divideFloor(x.high, s), high = sub(x.high, mul(last, s)),
        together = equal(first, last);
  return {select(together, low, i32(0)), select(together, high, i32(size - 1)), 0, size - 1};
}

/// The remainder has the sign of x, and it grows with x if the quotients of both ends are equal.
Interval IntervalArith::rest(const Interval &x, const Interval &y) {
  if (x.isPoint() && y.isPoint())
    return point(remainder(x.low, y.low));
  std::optional<int64_t> size = y.constant();
  if (size && *size == 0)
    return constant(0);
  if (size && *size != smallest) {
    int64_t last = std::abs(*size) - 1;
    if (x.least >= 0)
      return modulo(x, last + 1);
    Value s = i32(last + 1), zero = i32(0);
    Value together = equal(divide(x.low, s), divide(x.high, s));
    Value low = select(less(x.low, zero), i32(-last), zero),
          high = select(less(zero, x.high), i32(last), zero);
    return {select(together, remainder(x.low, s), low),
            select(together, remainder(x.high, s), high), -last, last};
  }
  // The remainder is closer to 0 than the divisor and has the sign of x.
  Value zero = i32(0), last = sub(y.high, i32(1));
  Interval result{select(less(x.low, zero), sub(zero, last), zero),
                  select(less(zero, x.high), last, zero)};
  return unless(less(y.low, i32(1)), result);
}

//===- Bits --------------------------------------------------------------===//

Interval IntervalArith::bitAnd(const Interval &x, const Interval &y) {
  if (x.isPoint() && y.isPoint())
    return point(both(x.low, y.low));
  for (auto [bits, other] : {std::pair(&x, &y), std::pair(&y, &x)})
    if (std::optional<int64_t> mask = bits->constant();
        mask && *mask > 0 && *mask < largest && llvm::isMask_64(*mask))
      return modulo(*other, *mask + 1);
  // If one operand is not negative, the result is neither negative nor larger than that operand.
  Value zero = i32(0), most = i32(largest);
  Value xCounts = atMost(zero, x.low), yCounts = atMost(zero, y.low);
  Value high = min(select(xCounts, x.high, most), select(yCounts, y.high, most));
  return unless(negate(either(xCounts, yCounts)), {zero, high});
}

/// For non-negative numbers the result is between the larger one and the sum.
Interval IntervalArith::bitOr(const Interval &x, const Interval &y) {
  if (x.isPoint() && y.isPoint())
    return point(either(x.low, y.low));
  Value zero = i32(0), s = add(x.high, y.high);
  Value counts = both(atMost(zero, x.low), atMost(zero, y.low));
  return unless(negate(counts), {max(x.low, y.low), select(less(s, zero), i32(largest), s)});
}

/// For non-negative numbers the result is at most the sum. With -1 it is the complement, which
/// falls as x grows.
Interval IntervalArith::bitXor(const Interval &x, const Interval &y) {
  if (x.isPoint() && y.isPoint())
    return point(differ(x.low, y.low));
  for (auto [bits, other] : {std::pair(&x, &y), std::pair(&y, &x)})
    if (bits->constant() == -1)
      return {differ(other->high, bits->low), differ(other->low, bits->low), -1 - other->most,
              -1 - other->least};
  Value zero = i32(0), s = add(x.high, y.high);
  Value counts = both(atMost(zero, x.low), atMost(zero, y.low));
  return unless(negate(counts), {zero, select(less(s, zero), i32(largest), s)});
}

Interval IntervalArith::left(const Interval &x, const Interval &by) {
  if (x.isPoint() && by.isPoint())
    return point(shiftLeft(x.low, by.low));
  std::optional<int64_t> count = by.constant();
  if (!count || *count == 31)
    return everything();
  return *count < 0 || *count > 31 ? constant(0) : timesConstant(x, int64_t(1) << *count);
}

Interval IntervalArith::right(const Interval &x, const Interval &by) {
  if (by.isPoint())
    return x.isPoint() ? point(shiftRight(x.low, by.low))
                       : Interval{shiftRight(x.low, by.low), shiftRight(x.high, by.low)};
  // The result is between x and 0, or between x and -1.
  return {min(x.low, i32(0)), max(x.high, i32(-1))};
}

/// Numbers of equal sign have the same order as unsigned numbers.
Interval IntervalArith::rightUnsigned(const Interval &x, const Interval &by) {
  if (!by.isPoint())
    return everything();
  if (x.isPoint())
    return point(shiftRightUnsigned(x.low, by.low));
  Value zero = i32(0), mixed = both(less(x.low, zero), atMost(zero, x.high));
  Interval result{shiftRightUnsigned(x.low, by.low), shiftRightUnsigned(x.high, by.low)};
  return unless(mixed, result);
}

/// Exact if the interval fits `bits`; otherwise the range of all numbers with `bits` bits.
Interval IntervalArith::narrow(const Interval &x, unsigned bits) {
  int64_t end = int64_t(1) << (bits - 1);
  Value shift = i32(32 - bits), low = shiftRight(shiftLeft(x.low, shift), shift);
  if (x.isPoint())
    return point(low, -end, end - 1);
  Value inside = both(atMost(i32(-end), x.low), less(x.high, i32(end)));
  return {select(inside, x.low, i32(-end)), select(inside, x.high, i32(end - 1)), -end, end - 1};
}

Interval IntervalArith::unsign(const Interval &x, unsigned bits) {
  int64_t last = (int64_t(1) << bits) - 1;
  Value mask = i32(last), low = both(x.low, mask);
  if (x.isPoint())
    return point(low, 0, last);
  Value mixed = both(less(x.low, i32(0)), atMost(i32(0), x.high));
  return {select(mixed, i32(0), low), select(mixed, mask, both(x.high, mask)), 0, last};
}

//===- Choices and comparisons -------------------------------------------===//

/// The chosen interval if the condition is certain, otherwise the hull of both.
Interval IntervalArith::choice(const TileTruth &c, const Interval &x, const Interval &y) {
  Value low = select(c.must, x.low, select(c.may, min(x.low, y.low), y.low));
  Value high = select(c.must, x.high, select(c.may, max(x.high, y.high), y.high));
  return {low, high, std::min(x.least, y.least), std::max(x.most, y.most)};
}

TileTruth IntervalArith::otherwise(const TileTruth &x, const TileTruth &y) {
  Value may = either(both(x.may, negate(y.must)), both(y.may, negate(x.must)));
  Value must = either(both(x.must, negate(y.may)), both(y.must, negate(x.may)));
  return {may, must};
}

/// `may` compares the most favorable ends, `must` the least favorable.
TileTruth IntervalArith::order(Order p, const Interval &x, const Interval &y) {
  switch (p) {
  case Order::eq:
    return {both(atMost(x.low, y.high), atMost(y.low, x.high)),
            both(equal(x.low, y.high), equal(x.high, y.low))};
  case Order::ne:
    return opposite(order(Order::eq, x, y));
  case Order::slt:
  case Order::sle:
    return {compare(p, x.low, y.high), compare(p, x.high, y.low)};
  case Order::sgt:
    return order(Order::slt, y, x);
  case Order::sge:
    return order(Order::sle, y, x);
  case Order::ult:
  case Order::ule:
    return unsignedOrder(p, x, y);
  case Order::ugt:
    return unsignedOrder(Order::ult, y, x);
  case Order::uge:
    return unsignedOrder(Order::ule, y, x);
  }
  llvm_unreachable("all orders are listed");
}

/// Unknown for an interval with both signs, which is not an interval of unsigned numbers.
TileTruth IntervalArith::unsignedOrder(Order p, const Interval &x, const Interval &y) {
  Value zero = i32(0);
  auto mixed = [&](const Interval &v) { return both(less(v.low, zero), atMost(zero, v.high)); };
  Value unknown = either(mixed(x), mixed(y));
  return {either(unknown, compare(p, x.low, y.high)),
          both(negate(unknown), compare(p, x.high, y.low))};
}
