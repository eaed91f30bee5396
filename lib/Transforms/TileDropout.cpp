//===- TileDropout.cpp - Dropout of a tile --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The factors of dropout: a number is dropped if its random word is below the threshold.

#include "TileDropout.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

TileDropout::TileDropout(KernelBuilder &f, Value key, Value site, double probability) : t(f.t) {
  auto entry = [&](int64_t index) -> Value {
    return kernel::ReadOp::create(t.b, t.loc, f.view(f.viewOf(key)), ValueRange{t.index(index)});
  };
  seed = entry(0);
  step = entry(1);
  this->site = f.scalar(site);
  Value enabled = entry(2), none = t.constantI(0, enabled);
  Value drops = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ne, enabled, none);
  const auto words = static_cast<int64_t>(std::round(probability * 0x1p32));
  threshold = t.select(drops, t.constantI(words, enabled), none);
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(t.b, t.loc, t.b.getF32FloatAttr(static_cast<float>(value)));
  };
  kept = t.select(drops, number(1 / (1 - probability)), number(1));
}

Value TileDropout::factors(RankedTensorType type, Value column, Value position, Value example) {
  auto full = [&](Value x) {
    return t.broadcast(x, type.clone(getElementTypeOrSelf(x.getType())));
  };
  Value word = kernel::RandomWordsOp::create(t.b, t.loc, type.clone(t.b.getI32Type()), column,
                                             position, example, site, seed, step);
  Value drops = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ult, word, full(threshold));
  Value factor = full(kept);
  return t.select(drops, t.constant(0, factor), factor);
}

Value WeightDropout::exampleOf(KernelBuilder &f, Value examples, Scores &scores) {
  TileBuilder &t = f.t;
  Value number = kernel::ReadOp::create(t.b, t.loc, f.view(f.viewOf(examples)),
                                        ValueRange{scores.sequence.number});
  return t.add(t.mul(number, t.constantI(scores.heads, number)), t.i32(scores.head));
}
