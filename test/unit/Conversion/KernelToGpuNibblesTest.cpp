//===- KernelToGpuNibblesTest.cpp - i4 on a Vulkan device -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel with weights of i4 gives the bits of the same kernel with the numbers
// they stand for as f32.

#include "GpuBodies.h"
#include "NibbleTensors.h"

using namespace heddle;
using namespace heddle::test;

namespace {

class KernelToGpuNibbles : public GpuTest {};

struct Shape {
  int64_t m, k, n, columns;
};

std::vector<float> runLinear(const Shape &s, const std::vector<float> &x,
                             std::span<const float> stored32, bool isNarrow) {
  Arena memory(x.size() + 2 * s.m * stored(s.n) + 256), weights(stored32.size() + s.n + 256, true);
  size_t xs = memory.take(x.size()), rs = memory.take(s.m * stored(s.n)),
         ys = memory.take(s.m * stored(s.n));
  size_t ws = weights.take(stored32.size()), bs = weights.take(stored(s.n));
  std::ranges::copy(x, memory.at(xs));
  std::fill_n(memory.at(rs), s.m * stored(s.n), 0.0f);
  std::fill_n(weights.at(bs), stored(s.n), 0.5f);
  std::memcpy(weights.at(ws), stored32.data(), stored32.size_bytes());
  std::string body = bodyText("linear", {{"ROWS", "64"},
                                         {"COLUMNS", text(s.columns)},
                                         {"K", text(s.k)},
                                         {"N", text(s.n)},
                                         {"SCHEDULE", "threads = [8, 8]"}});
  const std::string wide = text(s.k) + "], f32, panel", i4 = text(s.k) + "], i4, panel";
  for (size_t at = 0; isNarrow && (at = body.find(wide, at)) != std::string::npos; ++at)
    body.replace(at, wide.size(), i4);
  Shader words = compile(body);
  EXPECT_FALSE(words.empty());
  if (!words.empty())
    run(words, memory, weights, {s.m},
        {memory.argument(xs), weights.argument(ws), weights.argument(bs), memory.argument(rs),
         memory.argument(ys)},
        {tiles(s.m, 64), tiles(s.n, s.columns), 1});
  return {memory.at(ys), memory.at(ys) + s.m * stored(s.n)};
}

TEST_F(KernelToGpuNibbles, LinearGivesTheBitsOfF32) {
  for (const Shape &s : {Shape{64, 64, 128, 128}, Shape{37, 71, 128, 128}, Shape{1, 1, 16, 16},
                         Shape{9, 18, 96, 48}, Shape{70, 133, 80, 16}}) {
    Random random;
    std::vector<float> x(s.m * stored(s.k));
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t c = 0; c < s.k; ++c)
        x[i * stored(s.k) + c] = random();
    NibbleMatrix w(s.n, s.k, 1);
    std::vector<float> panels = w.panels(static_cast<int64_t>(stored(s.k)));
    std::vector<float> words(w.words.size());
    std::memcpy(words.data(), w.words.data(), words.size() * 4);
    std::vector<float> narrow = runLinear(s, x, words, true), wide = runLinear(s, x, panels, false);
    for (int64_t i = 0; i < s.m; ++i)
      EXPECT_EQ(std::memcmp(&narrow[i * stored(s.n)], &wide[i * stored(s.n)], s.n * sizeof(float)),
                0)
          << "M " << s.m << " K " << s.k << " N " << s.n << ", row " << i;
  }
}

} // namespace
