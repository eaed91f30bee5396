//===- KernelToGpuAttentionTest.cpp - Attention on a Vulkan device --------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of attention on GPUs, compared with plain loops in f64. Cases are lengths, a causal mask,
// odd sizes, and fewer key heads than query heads. Values hidden by the mask may be infinite or
// NaN, and the bits of a row do not depend on its neighbours.

#include "GpuBodies.h"

using namespace heddle;
using namespace heddle::test;

namespace {

class KernelToGpuAttention : public GpuTest {};

struct Attention {
  int64_t batch, heads, keyHeads, tq, tk, d, dv;
  std::string plan = "mapping = blocked, threads = [4, 8]";
};

class AttentionRun {
public:
  explicit AttentionRun(const Attention &shape)
      : s(shape), rowsQ(padded(s.tq)), rowsK(padded(s.tk)), memory(6'000'000), weights(64, true),
        q(memory.take(s.batch * s.heads * rowsQ * stored(s.d))),
        k(memory.take(s.batch * s.keyHeads * rowsK * stored(s.d))),
        v(memory.take(s.batch * s.keyHeads * rowsK * s.dv)), lengths(memory.take(s.batch)),
        o(memory.take(s.batch * s.tq * s.heads * s.dv)) {
    Random random;
    for (int64_t i = 0; i < s.batch * s.heads * s.tq; ++i)
      for (int64_t c = 0; c < s.d; ++c)
        memory.at(q)[(i / s.tq * rowsQ + i % s.tq) * stored(s.d) + c] = 2 * random();
    for (int64_t i = 0; i < s.batch * s.keyHeads; ++i)
      for (int64_t t = 0; t < s.tk; ++t) {
        for (int64_t c = 0; c < s.d; ++c)
          *key(i, t, c) = 2 * random();
        for (int64_t c = 0; c < s.dv; ++c)
          *value(i, t, c) = random();
      }
    for (int64_t b = 0; b < s.batch; ++b)
      memory.wordsAt(lengths)[b] = int32_t(b == 0   ? s.tk
                                           : b == 1 ? 0
                                                    : 1 + random.below(int(s.tk)));
    char scale[32];
    std::snprintf(scale, sizeof scale, "%.9e", 1.4426950408889634 / std::sqrt(double(s.d)));
    words = compile(bodyText("attention", {{"ROWS", "32"},
                                           {"KEYS", "64"},
                                           {"D", text(s.d)},
                                           {"DV", text(s.dv)},
                                           {"H", text(s.heads)},
                                           {"HK", text(s.keyHeads)},
                                           {"G", text(s.heads / s.keyHeads)},
                                           {"O", text(s.heads * s.dv)},
                                           {"SCALE", scale},
                                           {"PLAN", s.plan}}));
  }

  float *key(int64_t head, int64_t t, int64_t c) {
    return memory.at(k) + (head * rowsK + t / 16 * 16) * stored(s.d) + c * 16 + t % 16;
  }
  float *value(int64_t head, int64_t t, int64_t c) {
    return memory.at(v) + (head * rowsK + t) * s.dv + c;
  }
  float *result(int64_t b, int64_t h, int64_t i) {
    return memory.at(o) + ((b * s.tq + i) * s.heads + h) * s.dv;
  }

  void launch() {
    run(words, memory, weights, {s.batch, s.tq, rowsQ, s.tk, rowsK},
        {memory.argument(q), memory.argument(k), memory.argument(v), memory.argument(lengths),
         memory.argument(o)},
        {s.batch, s.heads, tiles(s.tq, 32)});
  }

  std::vector<double> expected(int64_t b, int64_t h, int64_t i) {
    const int64_t head = b * s.keyHeads + h / (s.heads / s.keyHeads);
    const int64_t end = std::min<int64_t>(memory.wordsAt(lengths)[b], i + s.tk - s.tq + 1);
    std::vector<double> scores, sums(s.dv);
    double top = -INFINITY, total = 0;
    for (int64_t t = 0; t < end; ++t) {
      double dot = 0;
      for (int64_t c = 0; c < s.d; ++c)
        dot += double(memory.at(q)[((b * s.heads + h) * rowsQ + i) * stored(s.d) + c]) *
               *key(head, t, c);
      scores.push_back(dot / std::sqrt(double(s.d)));
      top = std::max(top, scores.back());
    }
    for (int64_t t = 0; t < end; ++t) {
      double p = std::exp(scores[t] - top);
      total += p;
      for (int64_t c = 0; c < s.dv; ++c)
        sums[c] += p * *value(head, t, c);
    }
    for (double &sum : sums)
      sum = total > 0 ? sum / total : 0;
    return sums;
  }

  void compare() {
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < s.tq; ++i) {
          std::vector<double> sums = expected(b, h, i);
          for (int64_t c = 0; c < s.dv; ++c)
            ASSERT_NEAR(result(b, h, i)[c], sums[c], 2e-5)
                << b << ", " << h << ", " << i << ", " << c;
        }
    EXPECT_TRUE(std::isnan(*(memory.at(o) + s.batch * s.tq * s.heads * s.dv)));
  }

  Attention s;
  int64_t rowsQ, rowsK;
  Arena memory, weights;
  size_t q, k, v, lengths, o;
  Shader words;
};

class AttentionTest : public GpuTest, public ::testing::WithParamInterface<Attention> {};

TEST_P(AttentionTest, AgreesWithLoops) {
  AttentionRun run(GetParam());
  ASSERT_FALSE(run.words.empty());
  run.launch();
  run.compare();
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionTest,
    ::testing::Values(Attention{3, 2, 2, 130, 130, 64, 64}, Attention{2, 4, 2, 5, 37, 32, 32},
                      Attention{3, 2, 1, 1, 200, 64, 64}, Attention{1, 1, 1, 64, 64, 20, 16},
                      Attention{3, 2, 2, 33, 70, 80, 80, "mapping = blocked, threads = [4, 4]"},
                      Attention{1, 2, 2, 40, 129, 48, 96}, Attention{2, 2, 2, 17, 17, 7, 48}));

/// A value past the end of a sequence or after the diagonal never affects a row that the mask hides
/// it from.
TEST_F(KernelToGpuAttention, HiddenValuesStayHidden) {
  AttentionRun run({3, 2, 2, 90, 90, 32, 32});
  run.memory.wordsAt(run.lengths)[2] = 41;
  for (int64_t head = 0; head < 6; ++head)
    for (int64_t t : {50, 70}) {
      *run.value(head, t, 3) = INFINITY;
      *run.value(head, t, 20) = NAN;
    }
  run.launch();
  for (int64_t i = 0; i < 90; ++i) {
    for (int64_t c = 0; c < 32; ++c) {
      bool sees = i >= 50 && (c == 3 || c == 20);
      if (sees)
        ASSERT_FALSE(std::isfinite(run.result(0, 1, i)[c])) << i << ", " << c;
      else
        ASSERT_NEAR(run.result(0, 1, i)[c], run.expected(0, 1, i)[c], 2e-5) << i << ", " << c;
      ASSERT_NEAR(run.result(2, 0, i)[c], run.expected(2, 0, i)[c], 2e-5) << i << ", " << c;
    }
  }
}

/// Row i of a causal sequence has the same bits if the sequence ends after it, and at any position
/// in the batch.
TEST_F(KernelToGpuAttention, RowsDoNotDependOnWhatFollows) {
  AttentionRun many({3, 2, 2, 131, 131, 64, 64}), few({1, 2, 2, 75, 75, 64, 64});
  many.memory.wordsAt(many.lengths)[2] = 131;
  few.memory.wordsAt(few.lengths)[0] = 75;
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t t = 0; t < 75; ++t)
      for (int64_t c = 0; c < 64; ++c) {
        few.memory.at(few.q)[(h * few.rowsQ + t) * 64 + c] =
            many.memory.at(many.q)[((4 + h) * many.rowsQ + t) * 64 + c];
        *few.key(h, t, c) = *many.key(4 + h, t, c);
        *few.value(h, t, c) = *many.value(4 + h, t, c);
      }
  many.launch();
  few.launch();
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t i = 0; i < 75; ++i)
      ASSERT_EQ(std::memcmp(few.result(0, h, i), many.result(2, h, i), 64 * 4), 0)
          << h << ", " << i;
}

} // namespace
