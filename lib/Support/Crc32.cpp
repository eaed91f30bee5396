//===- Crc32.cpp - CRC-32 checksums ---------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CRC-32 by carry-less multiplication. The checksum is the remainder of a polynomial over GF(2).
// Carry-less products fold 64 bytes into the next 64, which is three times as fast as tables ("Fast
// CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Gopal et al. 2009). The
// remainder of the last 16 bytes is computed by zlib, or the whole checksum if the processor lacks
// the instruction.

#include "heddle/Support/Container.h"
#include "heddle/Support/CpuFeatures.h"
#include "heddle/Support/Parallel.h"

#include <algorithm>
#include <vector>
#include <zlib.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace heddle {

namespace {

uLong continued(uLong sum, std::span<const std::byte> bytes) {
  return ::crc32_z(sum, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size());
}

#if defined(__x86_64__)

/// Shifts `sum`, a polynomial, by the number of bits that the remainders in `by` represent, and
/// adds `next`.
__attribute__((target("pclmul"))) inline __m128i folded(__m128i sum, __m128i by, __m128i next) {
  return _mm_xor_si128(
      _mm_xor_si128(_mm_clmulepi64_si128(sum, by, 0x00), _mm_clmulepi64_si128(sum, by, 0x11)),
      next);
}

/// Requires at least 64 bytes.
__attribute__((target("pclmul"))) uLong foldedSum(std::span<const std::byte> bytes) {
  const __m128i by512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4), // x^(512 +- 32), bits reversed
      by128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);           // x^(128 +- 32)
  const auto *at = reinterpret_cast<const __m128i *>(bytes.data());
  __m128i sums[4];
  for (int i = 0; i < 4; ++i)
    sums[i] = _mm_loadu_si128(at + i);
  sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128(-1)); // initial value of the checksum
  size_t done = 64;
  for (; done + 64 <= bytes.size(); done += 64)
    for (int i = 0; i < 4; ++i)
      sums[i] = folded(sums[i], by512, _mm_loadu_si128(at + done / 16 + i));
  for (int i = 1; i < 4; ++i)
    sums[i] = folded(sums[i - 1], by128, sums[i]);
  std::byte last[16];
  _mm_storeu_si128(reinterpret_cast<__m128i *>(last), sums[3]);
  constexpr uLong fromZero = 0xffffffff; // zlib starts from the complement
  return continued(continued(fromZero, last), bytes.subspan(done));
}

uLong sumOf(std::span<const std::byte> bytes) {
  static const bool hasProduct =
      missingCpuFeatures(std::vector<std::string>{"pclmulqdq", "sse4_1"}).empty();
  return hasProduct && bytes.size() >= 64 ? foldedSum(bytes) : continued(0, bytes);
}

#else
uLong sumOf(std::span<const std::byte> bytes) { return continued(0, bytes); }
#endif

} // namespace

/// Sums of pieces are combined in order into the sum of the whole.
uint32_t crc32(std::span<const std::byte> bytes) {
  constexpr size_t piece = size_t(8) << 20;
  size_t pieces = (bytes.size() + piece - 1) / piece;
  std::vector<uLong> sums(pieces);
  auto part = [&](size_t i) {
    return bytes.subspan(i * piece, std::min(piece, bytes.size() - i * piece));
  };
  parallelFor(static_cast<int64_t>(pieces), 0,
              [&](int64_t i, int) { sums[i] = sumOf(part(static_cast<size_t>(i))); });
  uLong sum = 0;
  for (size_t i = 0; i < pieces; ++i)
    sum = ::crc32_combine(sum, sums[i], static_cast<z_off_t>(part(i).size()));
  return static_cast<uint32_t>(sum);
}

} // namespace heddle
