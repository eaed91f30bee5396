//===- GgufWeights.cpp - Tensors of GGUF files -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors of a GGUF file as a source of weights.

#include "heddle/Pack/GgufWeights.h"

#include "GgufBlocks.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace heddle {

namespace {

using Bytes = const uint8_t *;

class GgufSource : public WeightSource {
public:
  explicit GgufSource(Gguf gguf) : file(std::move(gguf)) {
    for (const GgufTensor &tensor : file.tensors()) {
      infos.push_back({tensor.name, tensor.type, tensor.shape});
      decoderOf.push_back(findGgufDecoder(tensor.type));
    }
  }

  const std::string &name() const override { return file.name(); }
  const std::vector<TensorInfo> &tensors() const override { return infos; }
  std::span<const std::string_view> readableTypes() const override { return decodedGgufTypes(); }
  std::span<const float> inPlace(int tensor) const override;
  void read(int tensor, int64_t first, std::span<float> out) const override;
  std::optional<DType> codeType(int tensor) const override;
  std::optional<GroupCodes> codes(int tensor, int64_t first) const override;

private:
  Gguf file;
  std::vector<TensorInfo> infos;
  std::vector<const GgufDecoder *> decoderOf; ///< null: cannot be read
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

std::optional<DType> GgufSource::codeType(int tensor) const {
  return decoderOf[tensor] && decoderOf[tensor]->codes ? std::optional(decoderOf[tensor]->kept)
                                                       : std::nullopt;
}

std::optional<GroupCodes> GgufSource::codes(int tensor, int64_t first) const {
  const GgufTensor &from = file.tensors()[tensor];
  const std::optional<DType> type = codeType(tensor);
  if (!type || first % formatOf(*type).group)
    return {};
  const Bytes bytes = reinterpret_cast<Bytes>(from.bytes.data());
  const int64_t width = from.blocks->elements;
  GroupCodes group = decoderOf[tensor]->codes(bytes + first / width * from.blocks->bytes,
                                              first % width / formatOf(*type).group);
  return isFiniteHalf(group.scale) && isFiniteHalf(group.minimum) ? std::optional(group)
                                                                  : std::nullopt;
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
