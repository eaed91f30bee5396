//===- TileRoute.cpp - Body of a router -----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Body of route. Experts are ordered by descending score, then by ascending number. The last of
// the chosen experts in this order is found in `count` rounds, each of which finds the next
// expert. The experts at or before it are then stored in the order of their numbers. With groups,
// the number of groups that come before each group is counted first, and the experts of groups that
// are not used come after all others.
//
// Loops over a row take 16 columns at a time (RowWalk.h). Numbers of experts are floats, which
// hold them exactly.

#include "ScoreWalk.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::ReduceKind;

/// Magnitude above all scores. Scores are clamped below it. Scores of experts that cannot be chosen
/// are between.
static constexpr double aboveAll = 0x1p+127, largestScore = 0x1p+126, closed = 0x1.8p+126;
/// Number after all experts.
static constexpr double afterAll = 0x1p+24;
/// Least sum of scores by which weights are divided.
static constexpr double leastSum = 1e-20;

namespace {
/// An expert of each row: the score that orders it, and its number.
struct Choice {
  Value score, number;
};

/// Walks the experts of a tile of rows.
class Router {
public:
  Router(KernelBuilder &f, RouteOp op, Value i);
  void run();

private:
  Value is(arith::CmpFPredicate predicate, Value x, Value y);
  Value both(Value x, Value y) { return arith::AndIOp::create(t.b, t.loc, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(t.b, t.loc, x, y); }
  Value numbers(Value c);
  Value score(Value c);
  Value openOrder(Value c);
  Value order(Value c);
  int64_t groupSize() { return experts / static_cast<int64_t>(op.getGroups()); }
  Value isOfGroup(int64_t group, Value c);
  Value largestOfGroup(int64_t group, Value exceptFor);
  Value firstOfGroup(int64_t group, Value order);
  Value scoreOfGroup(int64_t group);
  void placeGroups();
  Value isAfter(const Choice &last, Value c);
  Value column(double value) {
    return arith::ConstantOp::create(
        t.b, t.loc, DenseElementsAttr::get(t.type(rows, 1), static_cast<float>(value)));
  }
  Choice next(const Choice &last);
  Choice lastChosen();
  Value firstAfter(const Choice &last, Value number);
  Value scoreOf(Value number);
  Value mixedWeight(Value number);
  Value divisor(const Choice &last);
  void store(const Choice &last);

  KernelBuilder &f;
  TileBuilder &t;
  RouteOp op;
  Value i;
  const int64_t rows, experts;
  ScoreWalk walk;
  Value maximum, sum;        ///< of softmax
  SmallVector<Value> places; ///< of each group: the number of groups that come before it
};
} // namespace

Router::Router(KernelBuilder &f, RouteOp op, Value i)
    : f(f), t(f.t), op(op), i(i), rows(f.plan.getRows()),
      experts(f.viewType(f.viewOf(op.getLogits())).getDims().back().extent.value),
      walk(t, f.view(f.viewOf(op.getLogits())), i, t.type(rows, 16), experts) {}

Value Router::is(arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(t.b, t.loc, predicate, x,
                               t.broadcast(y, cast<RankedTensorType>(x.getType())));
}

/// Numbers of the experts in the columns starting at `c`, as floats.
Value Router::numbers(Value c) {
  return arith::SIToFPOp::create(t.b, t.loc, t.type(rows, 16), walk.columns(c));
}

/// Scores of the experts in the columns starting at `c`; unspecified past the last expert.
Value Router::score(Value c) {
  if (op.getScore() == RouterScore::Sigmoid)
    return t.activation(Activation::Sigmoid, walk.load(c), TileBuilder::Accuracy::F32);
  return t.div(walk.power(c, maximum), sum);
}

/// The values that order the experts of all groups. Softmax keeps the order of the logits. The values
/// are finite, and past the last expert they are below all others.
Value Router::openOrder(Value c) {
  const bool isByLogits =
      op.getScore() == RouterScore::SparseMixer ||
      (op.getScore() == RouterScore::Softmax && !op.getCorrection() && op.getGroups() == 1);
  Value x = isByLogits ? walk.load(c) : score(c);
  if (Value correction = op.getCorrection()) {
    Value added = kernel::LoadOp::create(t.b, t.loc, t.type(1, 16), f.view(f.viewOf(correction)),
                                         ValueRange{c}, UnitAttr());
    x = t.add(x, t.broadcast(added, t.type(rows, 16)));
  }
  Value low = t.constant(-largestScore, x), high = t.constant(largestScore, x);
  x = t.select(t.less(low, x), x, low); // NaN is not above `low`
  x = t.select(t.less(x, high), x, high);
  return walk.inside(c, x, t.constant(-aboveAll, x));
}

/// As openOrder(). Experts of groups that are not used are below the others.
Value Router::order(Value c) {
  Value x = openOrder(c);
  for (auto [group, place] : llvm::enumerate(places)) {
    const auto used = static_cast<double>(op.getUsedGroups());
    Value isClosed = t.less(t.constant(used - 0.5, x), t.broadcast(place, t.type(rows, 16)));
    x = t.select(both(isOfGroup(static_cast<int64_t>(group), c), isClosed), t.constant(-closed, x),
                 x);
  }
  return x;
}

/// Whether the experts in the columns starting at `c` are of a group.
Value Router::isOfGroup(int64_t group, Value c) {
  Value number = numbers(c);
  auto bound = [&](int64_t n) {
    return t.constant(static_cast<double>(n * groupSize()) - 0.5, number);
  };
  return both(t.less(bound(group), number), t.less(number, bound(group + 1)));
}

/// The largest of the values that order the experts of a group, except for one expert if it is not
/// null.
Value Router::largestOfGroup(int64_t group, Value exceptFor) {
  return walk.reduced(ReduceKind::Max, -aboveAll, [&](Value lanes, Value c) {
    Value x = openOrder(c), none = t.constant(-aboveAll, x);
    x = t.select(isOfGroup(group, c), x, none);
    if (exceptFor)
      x = t.select(is(arith::CmpFPredicate::OEQ, numbers(c), exceptFor), none, x);
    return t.max(lanes, x);
  });
}

/// The lowest number of the experts of a group that are ordered by this value.
Value Router::firstOfGroup(int64_t group, Value order) {
  Value negated = walk.reduced(ReduceKind::Max, -afterAll, [&](Value lanes, Value c) {
    Value number = t.mul(numbers(c), -1);
    Value isEqual = is(arith::CmpFPredicate::OEQ, openOrder(c), order);
    return t.max(
        lanes, t.select(both(isOfGroup(group, c), isEqual), number, t.constant(-afterAll, number)));
  });
  return t.mul(negated, -1);
}

/// The sum of the two largest of the values that order the experts of a group.
Value Router::scoreOfGroup(int64_t group) {
  Value largest = largestOfGroup(group, {});
  if (groupSize() == 1)
    return largest;
  return t.add(largest, largestOfGroup(group, firstOfGroup(group, largest)));
}

/// Counts the groups that come before each group.
void Router::placeGroups() {
  SmallVector<Value> scores;
  for (int64_t group = 0; group < static_cast<int64_t>(op.getGroups()); ++group)
    scores.push_back(scoreOfGroup(group));
  for (auto [group, score] : llvm::enumerate(scores)) {
    Value place = column(0), one = column(1), none = column(0);
    for (auto [other, otherScore] : llvm::enumerate(scores)) {
      Value before; // among equal scores the lower group comes first
      if (other < group)
        before = t.select(t.less(otherScore, score), none, one);
      else if (other > group)
        before = t.select(t.less(score, otherScore), one, none);
      place = before ? t.add(place, before) : place;
    }
    places.push_back(place);
  }
}

/// Whether the experts in the columns starting at `c` come after `last`.
Value Router::isAfter(const Choice &last, Value c) {
  Value x = order(c);
  Value isEqual = is(arith::CmpFPredicate::OEQ, x, last.score);
  return either(is(arith::CmpFPredicate::OLT, x, last.score),
                both(isEqual, is(arith::CmpFPredicate::OGT, numbers(c), last.number)));
}

/// The expert of each row that comes first after `last`.
Choice Router::next(const Choice &last) {
  auto ifAfter = [&](Value c, Value x, double otherwise) {
    return t.select(isAfter(last, c), x, t.constant(otherwise, x));
  };
  Value best = walk.reduced(ReduceKind::Max, -aboveAll, [&](Value lanes, Value c) {
    return t.max(lanes, ifAfter(c, order(c), -aboveAll));
  });
  Value negated = walk.reduced(ReduceKind::Max, -afterAll, [&](Value lanes, Value c) {
    Value number = t.mul(numbers(c), -1);
    Value isBest = is(arith::CmpFPredicate::OEQ, order(c), best);
    return t.max(lanes,
                 ifAfter(c, t.select(isBest, number, t.constant(-afterAll, number)), -afterAll));
  });
  return {best, t.mul(negated, -1)};
}

/// The last expert of each row that is chosen.
Choice Router::lastChosen() {
  Value first = column(aboveAll), none = column(-1);
  auto loop =
      scf::ForOp::create(t.b, t.loc, t.index(0), t.index(static_cast<int64_t>(op.getCount())),
                         t.index(1), ValueRange{first, none});
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  Choice found = next({loop.getRegionIterArg(0), loop.getRegionIterArg(1)});
  scf::YieldOp::create(t.b, t.loc, ValueRange{found.score, found.number});
  return {loop.getResult(0), loop.getResult(1)};
}

/// The chosen expert with the lowest number above `number`; `last` is the last chosen one.
Value Router::firstAfter(const Choice &last, Value number) {
  Value negated = walk.reduced(ReduceKind::Max, -afterAll, [&](Value lanes, Value c) {
    Value candidate = numbers(c), none = t.constant(-afterAll, candidate);
    Value masked = t.select(isAfter(last, c), none, t.mul(candidate, -1));
    return t.max(lanes, t.select(is(arith::CmpFPredicate::OGT, candidate, number), masked, none));
  });
  return t.mul(negated, -1);
}

/// The scores of the experts with these numbers.
Value Router::scoreOf(Value number) {
  return walk.reduced(ReduceKind::Add, 0, [&](Value lanes, Value c) {
    Value x = score(c);
    Value same = is(arith::CmpFPredicate::OEQ, numbers(c), number);
    return t.add(lanes, t.select(same, x, t.constant(0, x)));
  });
}

/// The weight of an expert that a sparse mixer chooses: its share in a softmax over the experts that
/// are not chosen before it and are near it.
Value Router::mixedWeight(Value number) {
  Value logit = walk.reduced(ReduceKind::Max, -aboveAll, [&](Value lanes, Value c) {
    Value x = order(c), none = t.constant(-aboveAll, x);
    return t.max(lanes, t.select(is(arith::CmpFPredicate::OEQ, numbers(c), number), x, none));
  });
  Value largest = t.round(t.mul(logit, log2e));
  auto [own, sum] = walk.sums([&](Value c) -> std::pair<Value, Value> {
    Value x = walk.load(c), power = walk.power(c, largest), none = t.constant(0, x);
    Value m = t.broadcast(logit, t.type(rows, 16));
    Value size = t.max(t.max(x, t.mul(x, -1)), m);
    Value isFar = t.less(t.mul(size, 2 * op.getJitter().convertToDouble()), t.sub(m, x));
    Value isOwn = is(arith::CmpFPredicate::OEQ, numbers(c), number);
    Value isLeft = either(isOwn, isAfter({logit, number}, c));
    Value near = t.select(isFar, none, walk.inside(c, power, none));
    return {t.select(isOwn, power, none), t.select(isLeft, near, none)};
  });
  return t.div(own, sum);
}

/// The sum of the scores of the chosen experts.
Value Router::divisor(const Choice &last) {
  Value sum = walk.reduced(ReduceKind::Add, 0, [&](Value lanes, Value c) {
    Value x = score(c), none = t.constant(0, x);
    return t.add(lanes, walk.inside(c, t.select(isAfter(last, c), none, x), none));
  });
  Value least = t.constant(leastSum, sum);
  return t.select(t.less(sum, least), least, sum);
}

/// Stores the chosen experts, ascending, and their weights.
void Router::store(const Choice &last) {
  const bool mixes = op.getScore() == RouterScore::SparseMixer;
  Value divisor = op.getNormalise() ? this->divisor(last) : Value();
  Value none = column(-1);
  auto loop = scf::ForOp::create(t.b, t.loc, t.index(0),
                                 t.index(static_cast<int64_t>(op.getCount())), t.index(1), none);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  Value number = firstAfter(last, loop.getRegionIterArg(0));
  Value weight = mixes ? mixedWeight(number) : scoreOf(number);
  if (divisor)
    weight = t.div(weight, divisor);
  if (const double scale = op.getScale().convertToDouble(); scale != 1)
    weight = t.mul(weight, scale);
  Value expert = arith::FPToSIOp::create(t.b, t.loc, t.type(rows, 1, t.b.getI32Type()), number);
  Value left = t.sub(f.sizeValue(f.func.getGridSize(0)), i);
  for (auto [place, value] : llvm::enumerate(yieldedValues(f.def)))
    kernel::StoreVectorOp::create(t.b, t.loc, value == op.getExperts() ? expert : weight,
                                  f.slice(f.view(f.firstResult() + place), loop.getInductionVar()),
                                  i, left);
  scf::YieldOp::create(t.b, t.loc, number);
}

void Router::run() {
  if (op.getScore() == RouterScore::Softmax) {
    maximum = walk.maximum();
    sum = orOne(t, walk.sum(maximum));
  }
  if (op.getGroups() > 1)
    placeGroups();
  store(lastChosen());
}

LogicalResult heddle::tileRoute(KernelBuilder &f) {
  auto op = yielded(f).getDefiningOp<RouteOp>();
  if (!op)
    return f.def.emitOpError("expected a route that is yielded");
  f.createFunc({f.viewType(f.viewOf(op.getLogits())).getDim(0).extent}, {f.plan.getRows()});
  Router(f, op, f.func.getGridIndex(0)).run();
  return success();
}
