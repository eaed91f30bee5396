//===- NarrowTensors.h - Memory of 16-bit floats for kernels ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows and panels of bf16 or f16 as kernels read them, their rounding by kernels, and the denormal
// mode and equality for bit-exact tests.
#pragma once

#include "KernelRunner.h"

#include "heddle/Support/Float.h"
#include "heddle/Support/Program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <immintrin.h>

namespace heddle::test {

/// Memory of a 16-bit type with the given conversions.
template <float (*widen)(uint16_t), uint16_t (*narrow)(float)>
struct NarrowTensor {
  explicit NarrowTensor(int64_t count, uint16_t value = 0) : memory(count / 2 + 1), count(count) {
    std::fill_n(data(), count, value);
  }
  uint16_t *data() { return reinterpret_cast<uint16_t *>(memory.data()); }
  uint16_t &operator[](int64_t i) { return data()[i]; }
  std::span<std::byte> bytes() { return memory.bytes(); }
  float at(int64_t i) { return widen(data()[i]); }
  static float rounded(float number) { return widen(narrow(number)); }
  /// Fills the memory with small rounded numbers from a deterministic sequence.
  void fill(uint32_t seed) {
    Floats numbers(count);
    heddle::test::fill(numbers, seed);
    for (int64_t i = 0; i < count; ++i)
      data()[i] = narrow(numbers[i]);
  }
  Floats memory;
  int64_t count;
};

/// Position of an element of an [n, k] matrix in panels of 16 rows, in which two columns of a row
/// are adjacent.
inline int64_t inPanels(int64_t row, int64_t column, int64_t pitch) {
  return row / 16 * 16 * pitch + (column / 2 * 16 + row % 16) * 2 + column % 2;
}

/// Converts rows with pitch padded(k) to panels.
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

/// Flushes denormals to zero during its lifetime, as in every kernel.
struct FlushDenormals {
  unsigned before = _mm_getcsr();
  FlushDenormals() { _mm_setcsr(before | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(before); }
};

//===- Products with weights ---------------------------------------------===//

/// max(x w^T + b, 0) + r with n x k weights of type `weights`.
inline std::string linearBody(int64_t n, int64_t k, const std::string &plan, const char *weights) {
  return readBody("linear.mlir", {{"[3072, 768], f32", std::string("[3072, 768], ") + weights},
                                  {"ahead = 1", plan},
                                  {"3072", std::to_string(n)},
                                  {"768", std::to_string(k)}});
}

/// Sizes of a product with weights, and the plan of its kernel.
struct LinearShape {
  int64_t m, n, k;
  const char *plan = "ahead = 1";
};

/// Expects m x n results of `found` to have the bits of `expected`.
inline void expectSameBits(const LinearShape &s, Floats &found, Floats &expected) {
  int different = 0;
  for (int64_t i = 0; i < s.m * s.n; ++i)
    different += !sameBits(found[i], expected[i]);
  EXPECT_EQ(different, 0) << "M " << s.m << " N " << s.n << " K " << s.k;
}

//===- Rounding ----------------------------------------------------------===//

/// A kernel that rounds rows of 48 to `type`, and stores them as rows and as panels from a given
/// row on.
inline std::string roundingBody(const std::string &type, const std::string &attributes = "") {
  const std::string y = "!kernel.view<[d0, 48], " + type + ">",
                    p = "!kernel.view<[d0|d1, 48], " + type + ", panel = 16>",
                    tile = "tensor<32x48x" + type + ">";
  return "kernel.func @round(%x: !kernel.view<[d0, 48], f32>, %y: " + y + ", %p: " + p +
         ") scalars(d0, d1, d2) grid(%i = d0 by 32)" + attributes + R"( {
  %zero = arith.constant 0 : index
  %d0 = kernel.scalar "d0" : index
  %at = kernel.scalar "d2" : index
  %left = arith.subi %d0, %i : index
  %row = arith.addi %i, %at : index
  %t = kernel.load %x[%i, %zero] : !kernel.view<[d0, 48], f32> -> tensor<32x48xf32>
  %r = arith.truncf %t : tensor<32x48xf32> to )" +
         tile + "\n  kernel.store %r, %y[%i, %zero] rows(%left) : " + tile + ", " + y +
         "\n  kernel.store %r, %p[%row, %zero] rows(%left) : " + tile + ", " + p + "\n}\n";
}

/// Numbers that are hard to round: ties, which end in the bits `tie`; numbers near the smallest and
/// the largest f16 numbers; any bits. All contain the bits `always`, which can exclude denormals.
inline void fillForRounding(std::span<float> numbers, uint32_t tie, uint32_t always = 0) {
  uint32_t state = 5;
  for (size_t i = 0; i < numbers.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    uint32_t bits = i % 7 == 0   ? (state & ~(2 * tie - 1)) | tie | always
                    : i % 7 == 1 ? (state & 0x80ffffffu) + 0x33000000u
                    : i % 7 == 2 ? (state & 0x807fffffu) | 0x47000000u
                    : i % 7 == 3 ? (state & 0x807fffffu) | 0x38000000u
                                 : state | always;
    std::memcpy(&numbers[i], &bits, 4);
  }
}

/// Expects rows and panels stored as `type` to equal the conversion of the same numbers by
/// `Tensor`, with denormals as zero.
template <typename Tensor>
void expectRounding(const std::string &isa, const std::string &type, uint32_t tie) {
  CompiledKernel kernel = compileKernel(roundingBody(type), isa);
  const int64_t n = 48;
  for (auto [m, at] : {std::array<int64_t, 2>{1, 0}, {1, 19}, {37, 0}, {700, 7}, {64, 16}}) {
    int64_t rows = padded(m + at);
    Floats x(m * n);
    Tensor y(m * n, 7), panels(rows * n, 7);
    fillForRounding({x.data(), static_cast<size_t>(m * n)}, tie);
    const uint32_t special[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x7f7fffff,
                                0x007fffff, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001};
    std::memcpy(x.data() + 8, special, sizeof special);
    {
      FlushDenormals mode;
      kernel.run({x.bytes(), y.bytes(), panels.bytes()}, {m, rows, at});
    }
    for (int64_t i = 0; i < m * n; ++i) {
      bool small = std::fpclassify(x[i]) == FP_SUBNORMAL;
      float expected = Tensor::rounded(small ? std::copysign(0.0f, x[i]) : x[i]);
      ASSERT_TRUE(sameBits(y.at(i), expected)) << m << " rows, element " << i << ", of " << x[i];
      ASSERT_TRUE(sameBits(panels.at(inPanels(at + i / n, i % n, n)), expected))
          << m << " rows at " << at << ", element " << i;
    }
    for (int64_t row = 0; row < at; ++row)
      ASSERT_EQ(panels[inPanels(row, 5, n)], 7) << "written before the first row";
  }
}

/// Name of an instruction set, for the name of a test.
inline std::string isaName(const testing::TestParamInfo<const char *> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

} // namespace heddle::test
