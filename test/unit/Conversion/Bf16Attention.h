//===- Bf16Attention.h - Attention in bf16 for tests ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attention of test/data/bodies/attention.mlir with queries, keys and values in bf16.
#pragma once

#include "NarrowTensors.h"

namespace heddle::test {

using Halves = NarrowTensor<floatFromBFloat, bfloatFromFloat>;

inline std::string attentionBody() {
  return readBody("attention.mlir",
                  {{"d2, 64], f32", "d2, 64], bf16"},
                   {"d4, 64], f32", "d4, 64], bf16"},
                   {"[d0, 12,", "[d0, 1,"},
                   {"%h = 12 by", "%h = 1 by"},
                   {"[d0, d1, 768]", "[d0, d1, 64]"},
                   {"%pv = kernel.contract_rows %p,",
                    "%pr = arith.truncf %p : tensor<96x512xf32> to tensor<96x512xbf16>\n"
                    "    %pv = kernel.contract_rows %pr,"},
                   {"{guarded} : tensor<96x512xf32>", "{guarded} : tensor<96x512xbf16>"}});
}

struct Attention {
  Attention(int64_t queries, int64_t keys)
      : queries(queries), keys(keys), q(padded(queries) * 64), k(padded(keys) * 64, 0x7fc0),
        v((padded(keys) + 1) * 64, 0x7fc0), length(1), out(queries * 64, -1) {
    Halves numbers(keys * 64);
    q.fill(1), numbers.fill(2);
    for (int64_t i = 0; i < keys * 64; ++i)
      k[inPanels(i / 64, i % 64, 64)] = bfloatFromFloat(3 * numbers.at(i));
    numbers.fill(3);
    std::copy_n(numbers.data(), keys * 64, v.data());
    int32_t all = static_cast<int32_t>(keys);
    std::memcpy(&length[0], &all, 4);
  }
  Floats run(const CompiledKernel &kernel) {
    FlushDenormals mode;
    kernel.run({q.bytes(), k.bytes(), v.bytes(), length.bytes(), out.bytes()},
               {1, queries, padded(queries), keys, padded(keys)});
    return out;
  }
  /// Softmax in f64 of operands that are already rounded.
  double expected(int64_t row, int64_t c) {
    double sum = 0, result = 0;
    for (int64_t s = 0; s < keys; ++s) {
      double dot = 0;
      for (int64_t i = 0; i < 64; ++i)
        dot += static_cast<double>(q.at(row * 64 + i)) * k.at(inPanels(s, i, 64));
      double weight = std::exp(dot * 0.125);
      sum += weight;
      result += weight * v.at(s * 64 + c);
    }
    return result / sum;
  }
  int64_t queries, keys;
  Halves q, k, v;
  Floats length, out;
};

/// Expects values of keys after the length to change no bit, and an infinite value to change its
/// column only.
inline void expectHiddenValuesLeftOut(const std::string &isa) {
  CompiledKernel kernel = compileKernel(attentionBody(), isa);
  Attention data(9, 40);
  int32_t length = 33;
  std::memcpy(&data.length[0], &length, 4);
  Floats clean = data.run(kernel);
  for (int64_t s = 33; s < 40; ++s)
    data.v[s * 64 + 3] = s % 2 ? 0x7f80 : 0x7fc0;
  Floats hidden = data.run(kernel);
  for (int64_t i = 0; i < 9 * 64; ++i)
    ASSERT_TRUE(sameBits(clean[i], hidden[i])) << "element " << i;
  data.v[5 * 64 + 3] = 0x7f80;
  Floats infinite = data.run(kernel);
  EXPECT_TRUE(std::isinf(infinite[3]));
  EXPECT_TRUE(sameBits(clean[4], infinite[4]));
}

} // namespace heddle::test
