//===- Int4Tensors.h - Products of codes in groups --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of products with i4, si8 and si6: random codes of rows and of matrices with their scales,
// in the layout of Support/Formats.h. Also a kernel that multiplies them, one that gathers rows of a
// matrix, and both in plain loops, as `transformer.quantize` defines them.
#pragma once

#include "heddle/Support/Float.h"
#include "heddle/Support/Formats.h"
#include "heddle/Support/Program.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace heddle::test {

/// A deterministic pseudorandom sequence.
struct NibbleSequence {
  explicit NibbleSequence(uint32_t seed) : state(seed) {}
  uint32_t operator()() {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
  }
  uint32_t state;
};

/// An [n, k] matrix; n is a multiple of 16. Codes of missing features are 0.
struct NibbleMatrix {
  NibbleMatrix(int64_t n, int64_t k, uint32_t seed, DType type = DType::I4)
      : n(n), k(k), group(formatOf(type).group), groups((k + group - 1) / group), type(type),
        codes(n * k), scales(n * groups), minimums(n * groups),
        words(n / 16 * panelBytes(type, k) / 4) {
    NibbleSequence next(seed);
    for (int16_t &code : codes)
      code = static_cast<int16_t>(type == DType::I4    ? next() % 16
                                  : type == DType::SI6 ? int(next() % 64) - 32
                                                       : int(next() % 256) - 128);
    for (size_t i = 0; i < scales.size(); ++i) {
      // Most scales are near 0.01; some are 0, an f16 denormal, or the largest f16 number.
      uint32_t kind = next() % 16;
      scales[i] = static_cast<uint16_t>(kind == 0   ? 0
                                        : kind == 1 ? next() % 0x400
                                        : kind == 2 ? 0x7bff
                                                    : 0x2000 + next() % 0x800);
      minimums[i] = static_cast<uint16_t>((kind == 3 ? next() % 0x400 : 0x2800 + next() % 0x800) |
                                          (next() % 4 ? 0x8000 : 0));
    }
    store();
  }

  /// Writes the panels. A byte of a word of i4 holds two of its eight columns; the two are four
  /// columns apart. Other types have bytes of 128 + code.
  void store() {
    std::ranges::fill(words, type == DType::I4 ? 0 : 0x80808080); // code 0
    // Scales are widened here, where denormals are kept, because kernels also keep f16 denormals.
    d.clear(), m.clear();
    for (size_t i = 0; i < scales.size(); ++i) {
      d.push_back(floatFromHalf(scales[i]));
      m.push_back(floatFromHalf(minimums[i]));
    }
    for (int64_t row = 0; row < n; ++row)
      for (int64_t number = 0; number < groups; ++number) {
        const int64_t lines = formatOf(type).blockLines, first = number * group;
        uint32_t *block = &words[(row / 16 * groups + number) * lines * 16];
        for (int64_t c = first; c < std::min(k, first + group); ++c) {
          const int64_t at = c - first;
          if (type == DType::I4)
            block[at / 8 * 16 + row % 16] |= uint32_t(codes[row * k + c])
                                             << (at % 4 * 8 + at / 4 % 2 * 4);
          else
            block[at / 4 * 16 + row % 16] ^= (uint32_t(codes[row * k + c]) & 0xff) << (at % 4 * 8);
        }
        auto *halves = reinterpret_cast<uint16_t *>(block + (lines - 1) * 16);
        halves[row % 16] = scales[row * groups + number];
        halves[16 + row % 16] = minimums[row * groups + number];
      }
  }

  /// The number that a code represents.
  float at(int64_t row, int64_t column) const {
    const int64_t number = row * groups + column / group;
    return std::fma(d[number], static_cast<float>(codes[row * k + column]), m[number]);
  }

  int64_t n, k, group, groups;
  DType type;
  std::vector<int16_t> codes;
  std::vector<uint16_t> scales, minimums;
  std::vector<uint32_t> words;
  std::vector<float> d, m; ///< widened scales and minimums
};

/// Codes of [m, k] rows as bytes, and e and s of each group. Here s need not be the sum of the
/// group's codes.
struct NibbleRows {
  NibbleRows(int64_t m, int64_t k, uint32_t seed, DType type = DType::I4)
      : m(m), k(k), group(formatOf(type).group), groups((k + group - 1) / group), pitch(padded(k)),
        scalePitch(padded(2 * groups)), bytes(m * pitch, 0xa5), scales(m * scalePitch, NAN) {
    NibbleSequence next(seed);
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t c = 0; c < k; ++c)
        bytes[row * pitch + c] = static_cast<int8_t>(next() % 255 - 127);
      for (int64_t g = 0; g < 2 * groups; ++g)
        scales[row * scalePitch + g] = (static_cast<float>(next()) * 0x1p-23f - 1) * 0.125f;
    }
  }
  /// The product, with fused multiply-adds if `isFused`.
  std::vector<float> times(const NibbleMatrix &w, bool isFused = true) const {
    auto multiplyAdd = [&](float a, float b, float c) {
      volatile float product = a * b; // never contracted
      return isFused ? std::fma(a, b, c) : product + c;
    };
    std::vector<float> result;
    for (int64_t row = 0; row < m; ++row)
      for (int64_t n = 0; n < w.n; ++n) {
        float sum = 0;
        for (int64_t g = 0; g < groups; ++g) {
          int32_t u = 0;
          for (int64_t c = g * group; c < std::min(k, (g + 1) * group); ++c)
            u += bytes[row * pitch + c] * w.codes[n * k + c];
          const float *mine = &scales[row * scalePitch + 2 * g];
          volatile float factor = mine[0] * w.d[n * groups + g];
          sum = multiplyAdd(static_cast<float>(u), factor, sum);
          sum = multiplyAdd(mine[1], w.m[n * groups + g], sum);
        }
        result.push_back(sum);
      }
    return result;
  }

  int64_t m, k, group, groups, pitch, scalePitch;
  std::vector<int8_t> bytes;
  std::vector<float> scales;
};

/// A kernel for the product, with tiles of `rows` by `columns`.
inline std::string nibbleBody(int64_t features, int64_t outputs, int64_t rows, int64_t columns,
                              const std::string &plan, DType type = DType::I4) {
  auto text = [](int64_t number) { return std::to_string(number); };
  const int64_t group = formatOf(type).group;
  std::string k = text(features), n = text(outputs),
              tile = "tensor<" + text(rows) + "x" + text(columns) + "xf32>",
              x = "!kernel.view<[d0, " + k + "], i8>",
              s = "!kernel.view<[d0, " + text((features + group - 1) / group * 2) + "], f32>",
              w = "!kernel.view<[" + n + ", " + k + "], " + toString(type) + ", panel = 16>",
              y = "!kernel.view<[d0, " + n + "], f32>";
  return "kernel.func @nibbles(%x: " + x + ", %s: " + s + ", %w: " + w + ", %y: " + y +
         ") scalars(d0) grid(%i = d0 by " + text(rows) + ", %j = " + n + " by " + text(columns) +
         ") attributes {plan = #kernel.plan<" + plan +
         ">, storage = [#kernel.storage<memory>, #kernel.storage<memory>, #kernel.storage<weight>, "
         "#kernel.storage<memory>]} {\n" +
         "  %d0 = kernel.scalar \"d0\" : index\n  %left = arith.subi %d0, %i : index\n" +
         "  %c = kernel.contract_groups %x[%i], %w[%j] scales(%s : " + s + ") : " + x + ", " + w +
         " -> " + tile + "\n  kernel.store %c, %y[%i, %j] rows(%left) : " + tile + ", " + y +
         "\n}\n";
}

/// A kernel that gathers rows of a matrix, with tiles of `rows` rows.
inline std::string nibbleGather(const NibbleMatrix &w, int64_t rows, const std::string &plan) {
  const std::string k = std::to_string(w.k), tileRows = std::to_string(rows),
                    table = "!kernel.view<[" + std::to_string(w.n) + ", " + k + "], " +
                            toString(w.type) + ", panel = 16>",
                    tile = "tensor<" + tileRows + "x" + std::to_string(padded(w.k)) + "xf32>",
                    ids = "tensor<" + tileRows + "x1xi32>",
                    y = "!kernel.view<[d0, " + k + "], f32>";
  return "kernel.func @gather(%ids: !kernel.view<[d0], i32>, %w: " + table + ", %y: " + y +
         ") scalars(d0) grid(%i = d0 by " + tileRows + ") attributes {plan = #kernel.plan<" + plan +
         ">, storage = [#kernel.storage<memory>, #kernel.storage<weight>, "
         "#kernel.storage<memory>]} "
         "{\n  %zero = arith.constant 0 : index\n  %d0 = kernel.scalar \"d0\" : index\n"
         "  %left = arith.subi %d0, %i : index\n"
         "  %id = kernel.load %ids[%i] as rows : !kernel.view<[d0], i32> -> " +
         ids + "\n  %e = kernel.gather %w[%id], %zero : " + table + ", " + ids + " -> " + tile +
         "\n  kernel.store %e, %y[%i, %zero] rows(%left) : " + tile + ", " + y + "\n}\n";
}

} // namespace heddle::test
