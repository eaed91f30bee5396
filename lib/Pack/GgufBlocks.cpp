//===- GgufBlocks.cpp - Decoders of GGUF's quantized blocks ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders of GGUF's quantized blocks. A block has one scale, or one per group of its elements, and
// codes of few bits. A byte of 4-bit codes holds two elements that are half a group apart, so
// decoding runs over groups, and the compiler vectorizes these loops.

#include "GgufBlocks.h"

#include "heddle/Support/Float.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace heddle {

namespace {

using Bytes = const uint8_t *;

uint16_t bitsAt(Bytes at) { return static_cast<uint16_t>(at[0] | at[1] << 8); }
float halfAt(Bytes at) { return floatFromHalf(bitsAt(at)); }

void decodeF32(Bytes block, float *out) { std::memcpy(out, block, 4); }
void decodeF16(Bytes block, float *out) { *out = halfAt(block); }
void decodeBf16(Bytes block, float *out) { *out = floatFromBFloat(bitsAt(block)); }

/// A scale, then 32 codes of 8 bits.
void decodeQ8_0(Bytes block, float *out) {
  const float scale = halfAt(block);
  for (int i = 0; i < 32; ++i)
    out[i] = static_cast<float>(static_cast<int8_t>(block[2 + i])) * scale;
}

/// A scale, then 32 codes of 4 bits, offset by -8.
void decodeQ4_0(Bytes block, float *out) {
  const float scale = halfAt(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>((block[2 + i] & 15) - 8);
    out[16 + i] = scale * static_cast<float>((block[2 + i] >> 4) - 8);
  }
}

/// A scale and a minimum, then 32 codes of 4 bits.
void decodeQ4_1(Bytes block, float *out) {
  const float scale = halfAt(block), least = halfAt(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(block[4 + i] & 15) + least;
    out[16 + i] = scale * static_cast<float>(block[4 + i] >> 4) + least;
  }
}

/// Codes of 5 bits at `block`: four bytes with the fifth bits of all 32 codes, then the low bits in
/// pairs.
void fiveBitCodes(Bytes block, int (&codes)[32]) {
  const uint32_t high = bitsAt(block) | static_cast<uint32_t>(bitsAt(block + 2)) << 16;
  for (int i = 0; i < 16; ++i) {
    const uint8_t pair = block[4 + i];
    codes[i] = (pair & 15) | static_cast<int>(high >> i & 1) << 4;
    codes[16 + i] = pair >> 4 | static_cast<int>(high >> (16 + i) & 1) << 4;
  }
}

/// A scale, then 32 codes of 5 bits, offset by -16.
void decodeQ5_0(Bytes block, float *out) {
  const float scale = halfAt(block);
  int codes[32];
  fiveBitCodes(block + 2, codes);
  for (int i = 0; i < 32; ++i)
    out[i] = scale * static_cast<float>(codes[i] - 16);
}

/// A scale and a minimum, then 32 codes of 5 bits.
void decodeQ5_1(Bytes block, float *out) {
  const float scale = halfAt(block), least = halfAt(block + 2);
  int codes[32];
  fiveBitCodes(block + 4, codes);
  for (int i = 0; i < 32; ++i)
    out[i] = scale * static_cast<float>(codes[i]) + least;
}

/// Scale and minimum of group `group` of 8, 6 bits each. The first four groups use bytes 0 to 7;
/// the upper two bits of these bytes are the upper bits of the other groups.
std::pair<float, float> groupOf(Bytes codes, int group) {
  const int low = group & 3;
  const uint8_t first = codes[low], second = codes[4 + low], third = codes[8 + low];
  const int scale = group < 4 ? first & 63 : (third & 15) | (first >> 2 & 48);
  const int least = group < 4 ? second & 63 : third >> 4 | (second >> 2 & 48);
  return {static_cast<float>(scale), static_cast<float>(least)};
}

/// Eight groups of 32 codes. In Q5_K, the fifth bit of each code is a bit per group in 32 bytes.
template <bool hasFifth>
void decodeGroups(Bytes block, float *out) {
  const float scale = halfAt(block), least = halfAt(block + 2);
  const Bytes high = block + 16, low = hasFifth ? high + 32 : high;
  for (int group = 0; group < 8; ++group) {
    const auto [scaleCode, leastCode] = groupOf(block + 4, group);
    const float d = scale * scaleCode, m = least * leastCode;
    const Bytes codes = low + group / 2 * 32;
    const int shift = group % 2 * 4;
    for (int i = 0; i < 32; ++i) {
      const int fifth = hasFifth ? (high[i] >> group & 1) << 4 : 0;
      out[group * 32 + i] = d * static_cast<float>((codes[i] >> shift & 15) | fifth) - m;
    }
  }
}

/// Eight runs of 32 codes of 6 bits, offset by -32: four bits in 128 bytes, two in 64. Each 16
/// codes have a scale of 8 bits.
void decodeQ6_K(Bytes block, float *out) {
  const float scale = halfAt(block + 208);
  for (int run = 0; run < 8; ++run) {
    const int half = run / 4, part = run % 4;
    const Bytes low = block + half * 64 + part % 2 * 32, high = block + 128 + half * 32;
    for (int i = 0; i < 32; ++i) {
      const auto own = static_cast<int8_t>(block[192 + run * 2 + i / 16]);
      const int code = (low[i] >> (part / 2 * 4) & 15) | (high[i] >> (part * 2) & 3) << 4;
      out[run * 32 + i] = scale * static_cast<float>(own) * static_cast<float>(code - 32);
    }
  }
}

/// Two halves of four runs of 32 codes of 2 bits: a half has 32 bytes, with one code of each run.
int twoBitCode(Bytes codes, int element) {
  const int half = element / 128, run = element / 32 % 4;
  return codes[half * 32 + element % 32] >> (2 * run) & 3;
}

/// Sixteen groups of 16 codes of 2 bits. A byte per group holds scale and minimum, 4 bits each.
void decodeQ2_K(Bytes block, float *out) {
  const float scale = halfAt(block + 80), least = halfAt(block + 82);
  for (int group = 0; group < 16; ++group) {
    const float d = scale * static_cast<float>(block[group] & 15);
    const float m = least * static_cast<float>(block[group] >> 4);
    for (int i = group * 16; i < (group + 1) * 16; ++i)
      out[i] = d * static_cast<float>(twoBitCode(block + 16, i)) - m;
  }
}

/// Scale of group `group` of 16, 6 bits, offset by -32: four bits of it are in bytes 0 to 7, the
/// upper two in bytes 8 to 11.
int sixBitScale(Bytes scales, int group) {
  const int low = scales[group % 8] >> (group / 8 * 4) & 15;
  const int high = scales[8 + group % 4] >> (group / 4 * 2) & 3;
  return (low | high << 4) - 32;
}

/// Sixteen groups of 16 codes of 3 bits, offset by -4. The third bit of each code is a bit per run
/// of 32 codes in 32 bytes.
void decodeQ3_K(Bytes block, float *out) {
  const float scale = halfAt(block + 108);
  for (int group = 0; group < 16; ++group) {
    const float d = scale * static_cast<float>(sixBitScale(block + 96, group));
    for (int i = group * 16; i < (group + 1) * 16; ++i) {
      const int third = (block[i % 32] >> (i / 32) & 1) << 2;
      out[i] = d * static_cast<float>((twoBitCode(block + 32, i) | third) - 4);
    }
  }
}

/// Values of the 16 codes of IQ4_NL and IQ4_XS.
constexpr std::array<int8_t, 16> iq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                              1,    13,   25,  38,  53,  69,  89,  113};
/// Values of the 16 codes of MXFP4, doubled.
constexpr std::array<int8_t, 16> mxfp4Values = {0, 1,  2,  3,  4,  6,  8,  12,
                                                0, -1, -2, -3, -4, -6, -8, -12};

/// 32 codes of 4 bits, whose values are in a table.
void decodeByTable(Bytes pairs, float scale, const std::array<int8_t, 16> &values, float *out) {
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(values[pairs[i] & 15]);
    out[16 + i] = scale * static_cast<float>(values[pairs[i] >> 4]);
  }
}

/// A scale, then 32 codes of 4 bits with values in a table.
void decodeIq4Nl(Bytes block, float *out) {
  decodeByTable(block + 2, halfAt(block), iq4Values, out);
}

/// Scale of group `group` of 8, 6 bits, offset by -32: the upper two bits are in bytes 0 and 1, the
/// other four in bytes 2 to 5.
int iq4Scale(Bytes scales, int group) {
  const int high = bitsAt(scales) >> (2 * group) & 3;
  const int low = scales[2 + group / 2] >> (group % 2 * 4) & 15;
  return (low | high << 4) - 32;
}

/// Eight groups of 32 codes of 4 bits with values in a table.
void decodeIq4Xs(Bytes block, float *out) {
  const float scale = halfAt(block);
  for (int group = 0; group < 8; ++group)
    decodeByTable(block + 8 + group * 16, scale * static_cast<float>(iq4Scale(block + 2, group)),
                  iq4Values, out + group * 32);
}

/// Half of 2^(exponent - 127), because the table has doubled values.
float mxfp4Scale(uint8_t exponent) {
  return std::bit_cast<float>(exponent < 2 ? uint32_t{0x00200000} << exponent
                                           : uint32_t(exponent - 1) << 23);
}

/// The exponent of a scale, then 32 codes of 4 bits with values in a table.
void decodeMxfp4(Bytes block, float *out) {
  decodeByTable(block + 1, mxfp4Scale(block[0]), mxfp4Values, out);
}

//===- Codes in the format of int4 ---------------------------------------===//

bool isFinite(uint16_t half) { return (half & 0x7c00) != 0x7c00; }

/// Codes of a block whose elements are codes times `scale` plus `minimum`, if both are finite.
std::optional<Int4Codes> codesOf(Bytes pairs, uint16_t scale, uint16_t minimum) {
  if (!isFinite(scale) || !isFinite(minimum))
    return {};
  Int4Codes group{scale, minimum, {}};
  for (int i = 0; i < 16; ++i) {
    group.codes[i] = pairs[i] & 15;
    group.codes[16 + i] = pairs[i] >> 4;
  }
  return group;
}

/// The minimum is -8 times the scale, which is exact unless it overflows f16.
std::optional<Int4Codes> codesOfQ4_0(Bytes block) {
  return codesOf(block + 2, bitsAt(block), halfFromFloat(-8 * halfAt(block)));
}
std::optional<Int4Codes> codesOfQ4_1(Bytes block) {
  return codesOf(block + 4, bitsAt(block), bitsAt(block + 2));
}

//===- The types ---------------------------------------------------------===//

constexpr GgufDecoder decoders[] = {{"f32", decodeF32},
                                    {"f16", decodeF16},
                                    {"bf16", decodeBf16},
                                    {"q8_0", decodeQ8_0},
                                    {"q4_0", decodeQ4_0, codesOfQ4_0},
                                    {"q4_1", decodeQ4_1, codesOfQ4_1},
                                    {"q5_0", decodeQ5_0},
                                    {"q5_1", decodeQ5_1},
                                    {"q4_k", decodeGroups<false>},
                                    {"q5_k", decodeGroups<true>},
                                    {"q6_k", decodeQ6_K},
                                    {"q2_k", decodeQ2_K},
                                    {"q3_k", decodeQ3_K},
                                    {"iq4_nl", decodeIq4Nl},
                                    {"iq4_xs", decodeIq4Xs},
                                    {"mxfp4", decodeMxfp4}};
constexpr auto decodedTypes = [] {
  std::array<std::string_view, std::size(decoders)> names;
  for (size_t i = 0; i < names.size(); ++i)
    names[i] = decoders[i].type;
  return names;
}();

} // namespace

const GgufDecoder *findGgufDecoder(std::string_view type) {
  const auto *known = std::ranges::find(decoders, type, &GgufDecoder::type);
  return known == std::end(decoders) ? nullptr : known;
}

std::span<const std::string_view> decodedGgufTypes() { return decodedTypes; }

} // namespace heddle
