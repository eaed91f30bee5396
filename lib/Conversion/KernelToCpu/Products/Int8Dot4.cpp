//===- Int8Dot4.cpp - Products of bytes in groups of four -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes. A word holds four features, a step multiplies all of them (dot4 in
// CpuArithmetic.cpp), and sums are i32.

#include "Int8Dot4.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// A single row is bound by memory. Short panels are read one after another as one stream; long
/// panels are read in parallel, because several streams are prefetched at once
/// (docs/benchmarks.md). Integer sums may be reordered, so each vector has several partial sums to
/// hide latency. Their number is small, because more would load lines out of order.
Registers Int8Dot4::sumFeatures(Chain chain, Registers sums, Value from, Value to) {
  if (chain.shape.rows > 1)
    return CpuProduct::sumFeatures(std::move(chain), std::move(sums), from, to);
  constexpr int64_t mostOfShort = 2048; // features
  const int64_t vectors = chain.shape.vectors;
  const bool together = width > 4 && features() > mostOfShort;
  int64_t group = together ? vectors : 16 / width;             // vectors read in parallel
  int64_t phases = together ? width / 8 : width == 16 ? 3 : 2; // sums per vector
  int64_t first = 0;
  chain.unroll = chain.grain = 1; // one line at a time
  fetchMeanwhile(chain, from, to);
  auto loop = [&](Value begin, Value end, int64_t count, Registers &parts) {
    e.loopOver(begin, end, count, parts, [&](Value k) {
      for (int64_t u = 0; u < count; ++u) {
        chain.atStep(e.add(k, e.constant(u)));
        Value word = chain.left(k, 0, u);
        word = e.splat(word, VectorType::get({width}, word.getType()));
        for (int64_t j = 0; j < group; ++j) {
          Value &part = parts[u % phases * group + j];
          part = step(word, chain.right(k, first + j, u), part, /*guarded=*/false);
        }
      }
    });
  };
  const int64_t unrolled = 8 * phases;
  Value rest = arith::RemUIOp::create(builder, loc, e.sub(to, from), e.constant(unrolled));
  Value whole = e.sub(to, rest);
  for (; first < vectors; first += group) {
    Registers parts(phases * group, e.zeroSum(op));
    llvm::copy(ArrayRef(sums).slice(first, group), parts.begin());
    loop(from, whole, unrolled, parts);
    loop(whole, to, 1, parts);
    for (int64_t i = group; i < phases * group; ++i)
      parts[i % group] = arith::AddIOp::create(builder, loc, parts[i % group], parts[i]);
    std::copy_n(parts.begin(), group, sums.begin() + first);
  }
  return sums;
}

const ProductStrategy heddle::kernel::int8Dot4 = strategyOf<Int8Dot4>();
