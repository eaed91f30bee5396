//===- MaskArith.h - Arithmetic that masks emit -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic that mask and rule ops emit on i32, i1 and f32, for scalars and
// tiles. Both operands of an op have the same type: a scalar is combined with a
// tile as a constant of the tile's type, or through the site's splat.
#pragma once

#include "heddle/Dialect/Transformer/IR/MaskInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace heddle::transformer {

/// Shorthand for ops at one location.
struct MaskArith {
  using Value = mlir::Value;
  using Order = mlir::arith::CmpIPredicate;
  mlir::OpBuilder &b;
  mlir::Location loc;

  Value i32(int64_t v) { return mlir::arith::ConstantIntOp::create(b, loc, v, 32); }
  Value i1(bool v) { return mlir::arith::ConstantIntOp::create(b, loc, v, 1); }
  /// A constant in the type of `like`, an integer scalar or tile.
  Value integer(int64_t v, Value like);
  /// A constant in the type of `like`, f32 or a tile of it.
  Value real(float v, Value like);

  Value add(Value x, Value y) { return mlir::arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubIOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulIOp::create(b, loc, x, y); }
  Value min(Value x, Value y) { return mlir::arith::MinSIOp::create(b, loc, x, y); }
  Value max(Value x, Value y) { return mlir::arith::MaxSIOp::create(b, loc, x, y); }
  Value both(Value x, Value y) { return mlir::arith::AndIOp::create(b, loc, x, y); }
  Value either(Value x, Value y) { return mlir::arith::OrIOp::create(b, loc, x, y); }
  Value differ(Value x, Value y) { return mlir::arith::XOrIOp::create(b, loc, x, y); }
  Value negate(Value truth) { return differ(truth, integer(1, truth)); }
  Value less(Value x, Value y) { return compare(Order::slt, x, y); }
  Value atMost(Value x, Value y) { return compare(Order::sle, x, y); }
  Value equal(Value x, Value y) { return compare(Order::eq, x, y); }
  Value compare(Order p, Value x, Value y) { return mlir::arith::CmpIOp::create(b, loc, p, x, y); }
  Value select(Value c, Value x, Value y) { return mlir::arith::SelectOp::create(b, loc, c, x, y); }
  Value clamp(Value x, int64_t low, int64_t high) { return max(min(x, i32(high)), i32(low)); }
  /// Clamps a bound of a band. Coordinates are in [0, 2^30), so a bound outside [-2^30, 2^30) is
  /// equivalent to the nearest one inside.
  Value limit(Value x) { return clamp(x, -(int64_t(1) << 30), (int64_t(1) << 30) - 1); }

  /// Division rounded toward zero. x / 0 is 0, and the smallest number divided by -1 is itself.
  Value divide(Value x, Value y);
  /// Remainder of `divide`, with the sign of x; x % 0 is 0.
  Value remainder(Value x, Value y);
  Value divideFloor(Value x, Value y);
  Value divideCeil(Value x, Value y);
  /// Shifts. A count below 0 or above 31 yields 0, or the sign for the arithmetic right shift.
  Value shiftLeft(Value x, Value by);
  Value shiftRight(Value x, Value by);
  Value shiftRightUnsigned(Value x, Value by);

private:
  /// A divisor that cannot trap: 0 becomes 1, and so does -1 under the smallest number.
  Value safeDivisor(Value x, Value y);
  /// Truncated quotient and remainder, which divideFloor and divideCeil correct.
  std::pair<Value, Value> quotient(Value x, Value y);
  /// Whether a shift is in range, as i1, and the shift count, 0 if it is not.
  std::pair<Value, Value> shiftInRange(Value by);
};

/// The offset operand of a mask or rule, or the site's default offset; any i32.
mlir::Value offsetValue(mlir::OpBuilder &b, MaskSite &site, mlir::Value operand);

} // namespace heddle::transformer
