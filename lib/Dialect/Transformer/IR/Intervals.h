//===- Intervals.h - Interval arithmetic as emitted code --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interval arithmetic as emitted code. An interval of i32 has two ends, which
// are computed at run time, and bounds of these ends known at compile time. If
// a result could wrap, the interval is all of i32, which is sound for every
// later op. A truth value is an interval too, from must to may.
#pragma once

#include "MaskArith.h"

namespace heddle::transformer {

struct Interval {
  static constexpr int64_t smallest = std::numeric_limits<int32_t>::min(),
                           largest = std::numeric_limits<int32_t>::max();

  mlir::Value low, high;
  /// Bounds of `low` and `high`, known at compile time.
  int64_t least = smallest, most = largest;

  /// A single number: the same SSA value at both ends.
  bool isPoint() const { return low == high; }
  /// The number, if it is known at compile time.
  std::optional<int64_t> constant() const {
    return least == most ? std::optional(least) : std::nullopt;
  }
};

/// Ops on intervals. The result contains the value of the op for all operands in the given
/// intervals.
class IntervalArith : public MaskArith {
public:
  IntervalArith(mlir::OpBuilder &b, mlir::Location loc) : MaskArith{b, loc} {}

  Interval point(Value v, int64_t least = Interval::smallest, int64_t most = Interval::largest) {
    return {v, v, least, most};
  }
  Interval constant(int64_t v);
  Interval everything() { return {i32(Interval::smallest), i32(Interval::largest)}; }

  Interval sum(const Interval &x, const Interval &y);
  Interval difference(const Interval &x, const Interval &y);
  Interval product(const Interval &x, const Interval &y);
  Interval square(const Interval &x);
  Interval smaller(const Interval &x, const Interval &y);
  Interval larger(const Interval &x, const Interval &y);
  Interval quotient(const Interval &x, const Interval &y);
  Interval quotientFloor(const Interval &x, const Interval &y);
  Interval quotientCeil(const Interval &x, const Interval &y);
  Interval rest(const Interval &x, const Interval &y);
  /// x - floor(x / size) * size, size > 0.
  Interval modulo(const Interval &x, int64_t size);
  Interval bitAnd(const Interval &x, const Interval &y);
  Interval bitOr(const Interval &x, const Interval &y);
  Interval bitXor(const Interval &x, const Interval &y);
  Interval left(const Interval &x, const Interval &by);
  Interval right(const Interval &x, const Interval &by);
  Interval rightUnsigned(const Interval &x, const Interval &by);
  Interval choice(const TileTruth &c, const Interval &x, const Interval &y);
  /// Truncation to `bits`, sign-extended.
  Interval narrow(const Interval &x, unsigned bits);
  /// Zero extension of a number of `bits`.
  Interval unsign(const Interval &x, unsigned bits);

  TileTruth order(Order p, const Interval &x, const Interval &y);
  TileTruth conjunction(const TileTruth &x, const TileTruth &y) {
    return {both(x.may, y.may), both(x.must, y.must)};
  }
  TileTruth disjunction(const TileTruth &x, const TileTruth &y) {
    return {either(x.may, y.may), either(x.must, y.must)};
  }
  TileTruth opposite(const TileTruth &x) { return {negate(x.must), negate(x.may)}; }
  TileTruth otherwise(const TileTruth &x, const TileTruth &y);

private:
  /// `x`, or all of i32 where `wraps`.
  Interval unless(Value wraps, Interval x);
  /// Whether x * y overflows, and its low half.
  std::pair<Value, Value> multiply(Value x, Value y);
  Interval timesConstant(const Interval &x, int64_t factor);
  Interval quotientBy(const Interval &x, const Interval &y,
                      llvm::function_ref<Value(Value, Value)> divide);
  Value least4(llvm::ArrayRef<Value> v) { return min(min(v[0], v[1]), min(v[2], v[3])); }
  Value most4(llvm::ArrayRef<Value> v) { return max(max(v[0], v[1]), max(v[2], v[3])); }
  TileTruth unsignedOrder(Order p, const Interval &x, const Interval &y);
};

} // namespace heddle::transformer
