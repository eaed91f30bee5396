//===- GgufWeights.cpp - Tensors of GGUF files -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders of GGUF's quantized blocks. A block has one scale, or one per group of its elements, and
// codes of few bits. A byte of 4-bit codes holds two elements that are half a group apart, so
// decoding runs over groups, and the compiler vectorizes these loops.

#include "heddle/Pack/GgufWeights.h"

#include "heddle/Support/Float.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
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

struct Decoder {
  std::string_view type;
  void (*decode)(Bytes block, float *out);
  std::optional<Int4Codes> (*codes)(Bytes block) = nullptr; ///< null: a block is not an int4 group
};
constexpr Decoder decoders[] = {{"f32", decodeF32},
                                {"f16", decodeF16},
                                {"bf16", decodeBf16},
                                {"q8_0", decodeQ8_0},
                                {"q4_0", decodeQ4_0, codesOfQ4_0},
                                {"q4_1", decodeQ4_1, codesOfQ4_1},
                                {"q5_0", decodeQ5_0},
                                {"q5_1", decodeQ5_1},
                                {"q4_k", decodeGroups<false>},
                                {"q5_k", decodeGroups<true>},
                                {"q6_k", decodeQ6_K}};
constexpr auto decodedTypes = [] {
  std::array<std::string_view, std::size(decoders)> names;
  for (size_t i = 0; i < names.size(); ++i)
    names[i] = decoders[i].type;
  return names;
}();

class GgufSource : public WeightSource {
public:
  explicit GgufSource(Gguf gguf) : file(std::move(gguf)) {
    for (const GgufTensor &tensor : file.tensors()) {
      infos.push_back({tensor.name, tensor.type, tensor.shape});
      const auto *known = std::ranges::find(decoders, tensor.type, &Decoder::type);
      decoderOf.push_back(known == std::end(decoders) ? nullptr : known);
    }
  }

  const std::string &name() const override { return file.name(); }
  const std::vector<TensorInfo> &tensors() const override { return infos; }
  std::span<const std::string_view> readableTypes() const override { return decodedTypes; }
  std::span<const float> inPlace(int tensor) const override;
  void read(int tensor, int64_t first, std::span<float> out) const override;
  std::optional<Int4Codes> codes(int tensor, int64_t first) const override;

private:
  Gguf file;
  std::vector<TensorInfo> infos;
  std::vector<const Decoder *> decoderOf; ///< null: cannot be read
};

/// Decodes whole blocks in place, and partial blocks through a temporary block.
void GgufSource::read(int tensor, int64_t first, std::span<float> out) const {
  assert(decoderOf[tensor] && "checkReadable() lets no other type pass");
  const GgufTensor &from = file.tensors()[tensor];
  const int64_t width = from.blocks->elements, size = from.blocks->bytes;
  const Bytes bytes = reinterpret_cast<Bytes>(from.bytes.data());
  while (!out.empty()) {
    const int64_t block = first / width, skipped = first % width;
    const Bytes at = bytes + block * size;
    int64_t here = width;
    if (skipped == 0 && static_cast<int64_t>(out.size()) >= width) {
      decoderOf[tensor]->decode(at, out.data());
    } else {
      constexpr size_t longest = 256;
      float whole[longest];
      decoderOf[tensor]->decode(at, whole);
      here = std::min<int64_t>(static_cast<int64_t>(out.size()), width - skipped);
      std::copy_n(whole + skipped, here, out.begin());
    }
    first += here;
    out = out.subspan(here);
  }
}

std::optional<Int4Codes> GgufSource::codes(int tensor, int64_t first) const {
  const GgufTensor &from = file.tensors()[tensor];
  if (!decoderOf[tensor] || !decoderOf[tensor]->codes || first % from.blocks->elements)
    return {};
  const Bytes bytes = reinterpret_cast<Bytes>(from.bytes.data());
  return decoderOf[tensor]->codes(bytes + first / from.blocks->elements * from.blocks->bytes);
}

std::span<const float> GgufSource::inPlace(int tensor) const {
  const std::span<const std::byte> bytes = file.tensors()[tensor].bytes;
  if (infos[tensor].type != "f32" || std::endian::native != std::endian::little ||
      reinterpret_cast<uintptr_t>(bytes.data()) % alignof(float) != 0)
    return {};
  return {reinterpret_cast<const float *>(bytes.data()),
          static_cast<size_t>(infos[tensor].elements())};
}

} // namespace

std::unique_ptr<WeightSource> ggufWeights(Gguf file) {
  return std::make_unique<GgufSource>(std::move(file));
}

Expected<std::unique_ptr<WeightSource>> openGgufWeights(const std::string &path) {
  return ggufWeights(HEDDLE_TRY(Gguf::open(path)));
}

} // namespace heddle
