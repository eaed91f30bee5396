//===- NarrowTensors.h - Memory of 16-bit floats for kernels ---*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows and panels of bf16 or f16 as kernels read them, and the mode and equality
// that tests of single bits need.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "KernelRunner.h"

#include "heddle/Support/Float.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <immintrin.h>

namespace heddle::test {

inline int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }

/// Memory of a 16-bit type, by its conversions.
template <float (*widen)(uint16_t), uint16_t (*narrow)(float)>
struct NarrowTensor {
  explicit NarrowTensor(int64_t count, uint16_t value = 0) : memory(count / 2 + 1), count(count) {
    std::fill_n(data(), count, value);
  }
  uint16_t *data() { return reinterpret_cast<uint16_t *>(memory.data()); }
  uint16_t &operator[](int64_t i) { return data()[i]; }
  std::span<std::byte> bytes() { return memory.bytes(); }
  float at(int64_t i) { return widen(data()[i]); }
  /// Small numbers from a fixed sequence, rounded.
  void fill(uint32_t seed) {
    Floats numbers(count);
    heddle::test::fill(numbers, seed);
    for (int64_t i = 0; i < count; ++i)
      data()[i] = narrow(numbers[i]);
  }
  Floats memory;
  int64_t count;
};

/// Where an element of an [n, k] matrix lies in panels of 16 rows, two columns of a row side by
/// side.
inline int64_t inPanels(int64_t row, int64_t column, int64_t pitch) {
  return row / 16 * 16 * pitch + (column / 2 * 16 + row % 16) * 2 + column % 2;
}

/// Rows at the pitch padded(k), in panels.
template <typename Tensor>
Tensor toPanels(Tensor &rows, int64_t n, int64_t k) {
  Tensor panels(padded(n) * padded(k));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j)
      panels[inPanels(i, j, padded(k))] = rows[i * padded(k) + j];
  return panels;
}

inline CompiledKernel compileKernel(const std::string &text, const std::string &isa) {
  auto kernel = CompiledKernel::create(text, isa);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message;
    std::abort();
  }
  return *kernel;
}

inline bool sameBits(float a, float b) {
  return std::memcmp(&a, &b, 4) == 0 || (std::isnan(a) && std::isnan(b));
}

/// Denormals are zero while it lives, as in every kernel.
struct FlushDenormals {
  unsigned before = _mm_getcsr();
  FlushDenormals() { _mm_setcsr(before | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(before); }
};

/// A test's name of an instruction set.
inline std::string isaName(const testing::TestParamInfo<const char *> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

} // namespace heddle::test
