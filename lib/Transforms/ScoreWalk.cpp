//===- ScoreWalk.cpp - Scores of wide rows --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScoreWalk.h"

using namespace mlir;
using namespace heddle;

Value ScoreWalk::scores(Value c) {
  Value score = t.mul(load(c), log2e), hidden = t.constant(maskedScore, score);
  score = t.select(t.less(score, hidden), hidden, score);
  return inside(c, score, hidden);
}

Value ScoreWalk::maximum() {
  return t.round(reduced(kernel::ReduceKind::Max, lowestMaximum,
                         [&](Value lanes, Value c) { return t.max(lanes, scores(c)); }));
}

Value ScoreWalk::sum(Value maximum) {
  return reduced(kernel::ReduceKind::Add, 0,
                 [&](Value lanes, Value c) { return t.add(lanes, power(c, maximum)); });
}

Value ScoreWalk::power(Value c, Value maximum) {
  Value score = scores(c), rounded = t.round(score);
  return t.scaleb(t.exp2Fraction(t.sub(score, rounded)), t.sub(rounded, maximum));
}

Value ScoreWalk::columns(Value c) {
  return t.iota(/*rows=*/false, c, t.type(type.getDimSize(0), 16, t.b.getI32Type()));
}

Value ScoreWalk::element(Value ids) {
  return reduced(kernel::ReduceKind::Add, 0, [&](Value lanes, Value c) {
    Value x = load(c);
    return t.add(lanes, t.select(equal(t, columns(c), ids), x, t.constant(0, x)));
  });
}

Value ScoreWalk::equal(TileBuilder &t, Value x, Value y) {
  return arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, x,
                               t.broadcast(y, cast<RankedTensorType>(x.getType())));
}

Value heddle::orOne(TileBuilder &t, Value sum) {
  Value none =
      arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, sum, t.constant(0, sum));
  return t.select(none, t.constant(1, sum), sum);
}
