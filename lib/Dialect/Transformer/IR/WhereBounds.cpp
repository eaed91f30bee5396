//===- WhereBounds.cpp - Bounds of a formula over a tile ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interval analysis of the region of mask.where: b and h are points, i and j
// are the ranges of the tile. A table load at i or j, plus an optional number
// that is uniform over the tile, is bounded by the smallest and largest entries
// in that range. Other loads are unbounded.
//
// Sums ignore that both terms may depend on one variable. One idiom for which
// this matters is recognized by its form: x - (x / c) * c, the remainder of a
// division.

#include "Intervals.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::transformer;

namespace {
/// Computes bounds of each value of a formula: intervals of numbers, and may and must of truth
/// values.
class FormulaBounds {
public:
  FormulaBounds(OpBuilder &b, MaskSite &site, Region &region, const TileCorners &tile)
      : b(b), site(site), a(b, site.loc()), body(region.front()), tile(tile) {}

  TileTruth run() {
    for (Operation &op : body.without_terminator()) {
      Value result = op.getResult(0);
      if (result.getType().isInteger(1))
        truths[result] = truthOf(&op);
      else
        intervals[result] = intervalOf(&op);
    }
    return truth(body.getTerminator()->getOperand(0));
  }

private:
  static constexpr int64_t coordinates = int64_t(1) << 30;

  Interval interval(Value v) {
    if (auto known = intervals.find(v); known != intervals.end())
      return known->second;
    return intervals[v] = leaf(v);
  }

  TileTruth truth(Value v) {
    if (auto known = truths.find(v); known != truths.end())
      return known->second;
    APInt number; // from outside: the verifier admits only constants
    bool isTrue = matchPattern(v, m_ConstantInt(&number)) && number.isOne();
    return truths[v] = {a.i1(isTrue), a.i1(isTrue)};
  }

  /// Bounds of the region's arguments and of numbers from outside the region.
  Interval leaf(Value v) {
    if (auto argument = dyn_cast<BlockArgument>(v); argument && argument.getOwner() == &body) {
      Value one = a.i32(1);
      switch (argument.getArgNumber()) {
      case 0:
        return a.point(site.batch(b), 0, coordinates - 1);
      case 1:
        return a.point(site.head(b), 0, site.headCount() - 1);
      case 2:
        return {tile.i0, a.sub(tile.i1, one), 0, coordinates - 1};
      default:
        return {tile.j0, a.sub(tile.j1, one), 0, coordinates - 1};
      }
    }
    // The site may know a number as a constant.
    APInt number;
    Value scalar = matchPattern(v, m_ConstantInt(&number)) ? v : site.scalar(b, v);
    if (matchPattern(scalar, m_ConstantInt(&number)))
      return a.constant(number.getSExtValue());
    return a.point(scalar);
  }

  TileTruth truthOf(Operation *op);
  TileTruth compare(arith::CmpIOp op);
  TileTruth lowestBit(const Interval &x);
  Interval intervalOf(Operation *op);
  Interval binary(Operation *op, const Interval &x, const Interval &y);
  Interval difference(arith::SubIOp op);
  Interval resize(Operation *op);
  Interval load(MaskLoadOp op);
  Interval loadRange(Value table, const Interval &index);
  bool isUniform(Value v);
  bool isRun(Value v);

  OpBuilder &b;
  MaskSite &site;
  IntervalArith a;
  Block &body;
  const TileCorners &tile;
  llvm::DenseMap<Value, Interval> intervals;
  llvm::DenseMap<Value, TileTruth> truths;
};
} // namespace

//===- Truths ------------------------------------------------------------===//

TileTruth FormulaBounds::truthOf(Operation *op) {
  auto x = [&](unsigned i) { return truth(op->getOperand(i)); };
  return llvm::TypeSwitch<Operation *, TileTruth>(op)
      .Case([&](arith::ConstantOp) { return truth(op->getResult(0)); })
      .Case([&](arith::AndIOp) { return a.conjunction(x(0), x(1)); })
      .Case([&](arith::OrIOp) { return a.disjunction(x(0), x(1)); })
      .Case([&](arith::XOrIOp) { return a.otherwise(x(0), x(1)); })
      .Case([&](arith::CmpIOp cmp) { return compare(cmp); })
      .Case([&](arith::TruncIOp) { return lowestBit(interval(op->getOperand(0))); })
      .Case([&](arith::SelectOp) {
        TileTruth c = x(0);
        // Each pair takes one of the two branches.
        return a.disjunction(a.conjunction(c, x(1)), a.conjunction(a.opposite(c), x(2)));
      })
      .Default([&](Operation *) { return TileTruth{a.i1(true), a.i1(false)}; });
}

/// Compares i1 values as numbers; true is -1 in signed comparisons.
TileTruth FormulaBounds::compare(arith::CmpIOp op) {
  using P = arith::CmpIPredicate;
  P p = op.getPredicate();
  if (op.getLhs() == op.getRhs())
    return truth(arith::ConstantIntOp::create(
        b, site.loc(), arith::applyCmpPredicate(p, APInt(32, 0), APInt(32, 0)), 1));
  if (!op.getLhs().getType().isInteger(1))
    return a.order(p, interval(op.getLhs()), interval(op.getRhs()));
  TileTruth x = truth(op.getLhs()), y = truth(op.getRhs());
  if (p == P::eq || p == P::ne)
    return p == P::ne ? a.otherwise(x, y) : a.opposite(a.otherwise(x, y));
  bool isSigned = p == P::slt || p == P::sle || p == P::sgt || p == P::sge;
  Value zero = a.i32(0), one = a.i32(isSigned ? -1 : 1);
  auto number = [&](const TileTruth &t) {
    Value all = a.select(t.must, one, zero), some = a.select(t.may, one, zero);
    return isSigned ? Interval{some, all} : Interval{all, some};
  };
  return a.order(p, number(x), number(y));
}

/// The lowest bit, known if the interval is a single number.
TileTruth FormulaBounds::lowestBit(const Interval &x) {
  Value single = a.equal(x.low, x.high),
        odd = a.compare(arith::CmpIPredicate::ne, a.both(x.low, a.i32(1)), a.i32(0));
  return {a.either(a.negate(single), odd), a.both(single, odd)};
}

//===- Numbers -----------------------------------------------------------===//

Interval FormulaBounds::intervalOf(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return leaf(constant.getResult());
  if (auto loaded = dyn_cast<MaskLoadOp>(op))
    return load(loaded);
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
    return resize(op);
  if (isa<arith::SelectOp>(op))
    return a.choice(truth(op->getOperand(0)), interval(op->getOperand(1)),
                    interval(op->getOperand(2)));
  if (auto sub = dyn_cast<arith::SubIOp>(op))
    return difference(sub);
  return binary(op, interval(op->getOperand(0)), interval(op->getOperand(1)));
}

Interval FormulaBounds::binary(Operation *op, const Interval &x, const Interval &y) {
  bool same = op->getOperand(0) == op->getOperand(1);
  return llvm::TypeSwitch<Operation *, Interval>(op)
      .Case([&](arith::AddIOp) { return a.sum(x, y); })
      .Case([&](arith::MulIOp) { return same ? a.square(x) : a.product(x, y); })
      .Case([&](arith::DivSIOp) { return a.quotient(x, y); })
      .Case([&](arith::RemSIOp) { return a.rest(x, y); })
      .Case([&](arith::FloorDivSIOp) { return a.quotientFloor(x, y); })
      .Case([&](arith::CeilDivSIOp) { return a.quotientCeil(x, y); })
      .Case([&](arith::MinSIOp) { return a.smaller(x, y); })
      .Case([&](arith::MaxSIOp) { return a.larger(x, y); })
      .Case([&](arith::AndIOp) { return same ? x : a.bitAnd(x, y); })
      .Case([&](arith::OrIOp) { return same ? x : a.bitOr(x, y); })
      .Case([&](arith::XOrIOp) { return same ? a.constant(0) : a.bitXor(x, y); })
      .Case([&](arith::ShLIOp) { return a.left(x, y); })
      .Case([&](arith::ShRSIOp) { return a.right(x, y); })
      .Case([&](arith::ShRUIOp) { return a.rightUnsigned(x, y); })
      .Default([&](Operation *) { return a.everything(); });
}

/// Recognizes x - x, which is 0; x - floor(x / c) * c, which is in [0, c); and x - (x / c) * c, the
/// remainder of x / c.
Interval FormulaBounds::difference(arith::SubIOp op) {
  Value x = op.getLhs();
  if (x == op.getRhs())
    return a.constant(0);
  auto product = op.getRhs().getDefiningOp<arith::MulIOp>();
  for (unsigned side : {0u, 1u}) {
    Operation *division = product ? product->getOperand(side).getDefiningOp() : nullptr;
    if (!isa_and_nonnull<arith::FloorDivSIOp, arith::DivSIOp>(division) ||
        division->getBlock() != &body || division->getOperand(0) != x)
      continue;
    std::optional<int64_t> size = interval(division->getOperand(1)).constant();
    if (!size || *size <= 0 || interval(product->getOperand(1 - side)).constant() != size)
      continue;
    return isa<arith::DivSIOp>(division) ? a.rest(interval(x), a.constant(*size))
                                         : a.modulo(interval(x), *size);
  }
  return a.difference(interval(x), interval(op.getRhs()));
}

/// Numbers of 8 and 16 bits are kept in 32 bits, sign-extended.
Interval FormulaBounds::resize(Operation *op) {
  Value from = op->getOperand(0);
  unsigned bits = from.getType().getIntOrFloatBitWidth();
  if (bits == 1) {
    TileTruth t = truth(from);
    Value zero = a.i32(0), one = a.i32(isa<arith::ExtSIOp>(op) ? -1 : 1);
    Value all = a.select(t.must, one, zero), some = a.select(t.may, one, zero);
    return isa<arith::ExtSIOp>(op) ? Interval{some, all, -1, 0} : Interval{all, some, 0, 1};
  }
  if (isa<arith::TruncIOp>(op))
    return a.narrow(interval(from), op->getResult(0).getType().getIntOrFloatBitWidth());
  return isa<arith::ExtUIOp>(op) ? a.unsign(interval(from), bits) : interval(from);
}

//===- Loads -------------------------------------------------------------===//

/// Whether a number is uniform over the tile, that is, depends on neither i nor j.
bool FormulaBounds::isUniform(Value v) {
  if (auto argument = dyn_cast<BlockArgument>(v); argument && argument.getOwner() == &body)
    return argument.getArgNumber() < 2;
  Operation *def = v.getDefiningOp();
  return !def || def->getBlock() != &body || llvm::all_of(def->getOperands(), [&](Value x) {
    return !x.getType().isIntOrFloat() || isUniform(x);
  });
}

/// Whether an index is i or j, optionally plus or minus a uniform number. It then takes one value
/// for each row or column of the tile.
bool FormulaBounds::isRun(Value v) {
  if (v == body.getArgument(2) || v == body.getArgument(3))
    return true;
  Operation *def = v.getDefiningOp();
  if (isa_and_nonnull<arith::SubIOp>(def))
    return isRun(def->getOperand(0)) && isUniform(def->getOperand(1));
  if (!isa_and_nonnull<arith::AddIOp>(def))
    return false;
  return (isRun(def->getOperand(0)) && isUniform(def->getOperand(1))) ||
         (isUniform(def->getOperand(0)) && isRun(def->getOperand(1)));
}

Interval FormulaBounds::load(MaskLoadOp op) {
  Value index = op.getIndices().back();
  Interval x = interval(index);
  if (x.isPoint())
    return a.point(site.lookupScalar(b, op.getTable(), x.low));
  return isRun(index) ? loadRange(op.getTable(), x) : a.everything();
}

/// Smallest and largest entry of a table over an index interval. An index that may wrap has all of
/// i32 as its interval; the result is then all of i32 too, since scanning the whole table for each
/// tile is too expensive.
Interval FormulaBounds::loadRange(Value table, const Interval &index) {
  Value everywhere = a.both(a.equal(index.low, a.i32(Interval::smallest)),
                            a.equal(index.high, a.i32(Interval::largest)));
  Value from = index.low, last = index.high;
  if (index.least < 0 || index.most >= coordinates) {
    // Every table ends before the largest coordinate, so one index past the end represents all of
    // them.
    from = a.select(everywhere, a.i32(0), a.clamp(from, -1, coordinates));
    last = a.select(everywhere, a.i32(0), a.clamp(last, -1, coordinates));
  }
  auto [low, high] = site.tableRange(b, table, from, a.add(last, a.i32(1)));
  return {a.select(everywhere, a.i32(Interval::smallest), low),
          a.select(everywhere, a.i32(Interval::largest), high)};
}

TileTruth MaskWhereOp::bound(OpBuilder &b, MaskSite &site, const TileCorners &tile) {
  return FormulaBounds(b, site, getBody(), tile).run();
}
