//===- TileDropout.cpp - Dropout of a tile --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011) and the factors
// of dropout. One block of four words serves the columns c, c + 16, c + 32 and c + 48 of 64, so the
// vectors of these columns share it without a shuffle.

#include "TileDropout.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

std::array<Value, 4> heddle::philoxWords(TileBuilder &t, std::array<Value, 2> key,
                                         std::array<Value, 4> counter) {
  constexpr int rounds = 10;
  auto type = cast<RankedTensorType>(counter[0].getType());
  auto differ = [&](Value x, Value y) -> Value { return arith::XOrIOp::create(t.b, t.loc, x, y); };
  auto product = [&](Value x, int64_t factor) {
    return arith::MulUIExtendedOp::create(t.b, t.loc, x, t.constantI(factor, x));
  };
  for (int round = 0; round < rounds; ++round) {
    auto first = product(counter[0], 0xD2511F53), second = product(counter[2], 0xCD9E8D57);
    auto [seed, step] = key;
    counter = {
        differ(differ(second.getHigh(), counter[1]), t.broadcast(seed, type)), second.getLow(),
        differ(differ(first.getHigh(), counter[3]), t.broadcast(step, type)), first.getLow()};
    key = {t.add(seed, t.constantI(0x9E3779B9, seed)), t.add(step, t.constantI(0xBB67AE85, step))};
  }
  return counter;
}

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
  auto shifted = [&](Value x, int64_t by) -> Value {
    return arith::ShRUIOp::create(t.b, t.loc, x, t.constantI(by, x));
  };
  auto lowBits = [&](Value x, int64_t mask) -> Value {
    return arith::AndIOp::create(t.b, t.loc, x, t.constantI(mask, x));
  };
  Value block = t.add(t.mul(shifted(column, 6), t.constantI(16, column)), lowBits(column, 15));
  std::array<Value, 4> words =
      philoxWords(t, {seed, step}, {full(block), full(position), full(example), full(site)});
  Value number = lowBits(shifted(column, 4), 3), word = words[3];
  for (int64_t n : {2, 1, 0}) {
    Value isWord =
        arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, number, t.constantI(n, number));
    word = t.select(full(isWord), words[n], word);
  }
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
