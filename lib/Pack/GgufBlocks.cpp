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

/// Code of 6 bits: four bits in 128 bytes, two in 64.
int sixBitCode(Bytes block, int element) {
  const int run = element / 32, half = run / 4, part = run % 4, i = element % 32;
  const uint8_t low = block[half * 64 + part % 2 * 32 + i], high = block[128 + half * 32 + i];
  return (low >> (part / 2 * 4) & 15) | (high >> (part * 2) & 3) << 4;
}

/// Eight runs of 32 codes of 6 bits, offset by -32. Each 16 codes have a scale of 8 bits.
void decodeQ6_K(Bytes block, float *out) {
  const float scale = halfAt(block + 208);
  for (int group = 0; group < 16; ++group) {
    const float own = scale * static_cast<float>(static_cast<int8_t>(block[192 + group]));
    for (int i = group * 16; i < (group + 1) * 16; ++i)
      out[i] = own * static_cast<float>(sixBitCode(block, i) - 32);
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

/// Code of 3 bits. The third bit is a bit per run of 32 codes in 32 bytes.
int threeBitCode(Bytes block, int element) {
  return twoBitCode(block + 32, element) | (block[element % 32] >> (element / 32) & 1) << 2;
}

/// Sixteen groups of 16 codes of 3 bits, offset by -4.
void decodeQ3_K(Bytes block, float *out) {
  const float scale = halfAt(block + 108);
  for (int group = 0; group < 16; ++group) {
    const float d = scale * static_cast<float>(sixBitScale(block + 96, group));
    for (int i = group * 16; i < (group + 1) * 16; ++i)
      out[i] = d * static_cast<float>(threeBitCode(block, i) - 4);
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

//===- Codes -------------------------------------------------------------===//

constexpr int64_t groupCodes = formatOf(DType::SI8).group, shortGroup = formatOf(DType::SI6).group;

/// A group with codes of 4 bits in pairs, half a group apart.
GroupCodes pairs(Bytes at, uint16_t scale, uint16_t minimum) {
  GroupCodes group{scale, minimum, {}};
  for (int i = 0; i < 16; ++i) {
    group.codes[i] = static_cast<int8_t>(at[i] & 15);
    group.codes[16 + i] = static_cast<int8_t>(at[i] >> 4);
  }
  return group;
}

/// A group whose 4-bit codes are replaced by their values in a table.
GroupCodes byTable(Bytes at, uint16_t scale, const std::array<int8_t, 16> &values) {
  GroupCodes group = pairs(at, scale, 0);
  for (int8_t &code : group.codes)
    code = values[static_cast<uint8_t>(code)];
  return group;
}

/// The minimum is -8 times the scale, which is exact unless it overflows f16.
GroupCodes codesOfQ4_0(Bytes block, int64_t) {
  return pairs(block + 2, bitsAt(block), halfFromFloat(-8 * halfAt(block)));
}
GroupCodes codesOfQ4_1(Bytes block, int64_t) {
  return pairs(block + 4, bitsAt(block), bitsAt(block + 2));
}
GroupCodes codesOfIq4Nl(Bytes block, int64_t) {
  return byTable(block + 2, bitsAt(block), iq4Values);
}
GroupCodes codesOfIq4Xs(Bytes block, int64_t group) {
  const float scale =
      halfAt(block) * static_cast<float>(iq4Scale(block + 2, static_cast<int>(group)));
  return byTable(block + 8 + group * 16, halfFromFloat(scale), iq4Values);
}
GroupCodes codesOfMxfp4(Bytes block, int64_t) {
  return byTable(block + 1, halfFromFloat(mxfp4Scale(block[0])), mxfp4Values);
}

GroupCodes codesOfQ8_0(Bytes block, int64_t) {
  GroupCodes group{bitsAt(block), 0, {}};
  std::memcpy(group.codes.data(), block + 2, groupCodes);
  return group;
}

/// A group of 5-bit codes, less `base`.
GroupCodes fiveBits(Bytes at, int base, uint16_t scale, uint16_t minimum) {
  GroupCodes group{scale, minimum, {}};
  int codes[32];
  fiveBitCodes(at, codes);
  for (int i = 0; i < 32; ++i)
    group.codes[i] = static_cast<int8_t>(codes[i] - base);
  return group;
}
GroupCodes codesOfQ5_0(Bytes block, int64_t) { return fiveBits(block + 2, 16, bitsAt(block), 0); }
GroupCodes codesOfQ5_1(Bytes block, int64_t) {
  return fiveBits(block + 4, 0, bitsAt(block), bitsAt(block + 2));
}

template <bool hasFifth>
GroupCodes codesOfGroup(Bytes block, int64_t group) {
  const auto [scale, least] = groupOf(block + 4, static_cast<int>(group));
  GroupCodes made{
      halfFromFloat(halfAt(block) * scale), halfFromFloat(-halfAt(block + 2) * least), {}};
  const Bytes high = block + 16, codes = (hasFifth ? high + 32 : high) + group / 2 * 32;
  for (int i = 0; i < 32; ++i) {
    const int fifth = hasFifth ? (high[i] >> group & 1) << 4 : 0;
    made.codes[i] = static_cast<int8_t>((codes[i] >> (group % 2 * 4) & 15) | fifth);
  }
  return made;
}

GroupCodes codesOfQ6_K(Bytes block, int64_t group) {
  const float scale =
      halfAt(block + 208) * static_cast<float>(static_cast<int8_t>(block[192 + group]));
  GroupCodes made{halfFromFloat(scale), 0, {}};
  for (int i = 0; i < shortGroup; ++i)
    made.codes[i] = static_cast<int8_t>(sixBitCode(block, static_cast<int>(group) * 16 + i) - 32);
  return made;
}
GroupCodes codesOfQ2_K(Bytes block, int64_t group) {
  GroupCodes made{halfFromFloat(halfAt(block + 80) * static_cast<float>(block[group] & 15)),
                  halfFromFloat(-halfAt(block + 82) * static_cast<float>(block[group] >> 4)),
                  {}};
  for (int i = 0; i < shortGroup; ++i)
    made.codes[i] = static_cast<int8_t>(twoBitCode(block + 16, static_cast<int>(group) * 16 + i));
  return made;
}
GroupCodes codesOfQ3_K(Bytes block, int64_t group) {
  const int first = static_cast<int>(group) * 16;
  const float scale =
      halfAt(block + 108) * static_cast<float>(sixBitScale(block + 96, static_cast<int>(group)));
  GroupCodes made{halfFromFloat(scale), 0, {}};
  for (int i = 0; i < shortGroup; ++i)
    made.codes[i] = static_cast<int8_t>(threeBitCode(block, first + i) - 4);
  return made;
}

//===- The types ---------------------------------------------------------===//

constexpr GgufDecoder decoders[] = {{"f32", decodeF32},
                                    {"f16", decodeF16},
                                    {"bf16", decodeBf16},
                                    {"q8_0", decodeQ8_0, DType::SI8, codesOfQ8_0},
                                    {"q4_0", decodeQ4_0, DType::I4, codesOfQ4_0},
                                    {"q4_1", decodeQ4_1, DType::I4, codesOfQ4_1},
                                    {"q5_0", decodeQ5_0, DType::SI8, codesOfQ5_0},
                                    {"q5_1", decodeQ5_1, DType::SI8, codesOfQ5_1},
                                    {"q4_k", decodeGroups<false>, DType::I4, codesOfGroup<false>},
                                    {"q5_k", decodeGroups<true>, DType::SI8, codesOfGroup<true>},
                                    {"q6_k", decodeQ6_K, DType::SI6, codesOfQ6_K},
                                    {"q2_k", decodeQ2_K, DType::SI6, codesOfQ2_K},
                                    {"q3_k", decodeQ3_K, DType::SI6, codesOfQ3_K},
                                    {"iq4_nl", decodeIq4Nl, DType::SI8, codesOfIq4Nl},
                                    {"iq4_xs", decodeIq4Xs, DType::SI8, codesOfIq4Xs},
                                    {"mxfp4", decodeMxfp4, DType::SI8, codesOfMxfp4}};
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
