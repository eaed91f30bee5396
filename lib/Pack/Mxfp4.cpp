//===- Mxfp4.cpp - MXFP4 matrices of Hugging Face folders -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group of 32 elements has 16 bytes of codes in one tensor and the exponent of its scale in
// another. The codes and scales are those of GGUF's mxfp4 in another order.

#include "heddle/Pack/Mxfp4.h"

#include "GgufBlocks.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <array>

namespace heddle {

namespace {

constexpr int64_t groupSize = 32, groupBytes = groupSize / 2;
constexpr std::string_view blocksEnd = "_blocks", scalesEnd = "_scales", typeName = "mxfp4";

/// Wraps another source and reads pairs of tensors as matrices.
class PairedTensors : public WeightSource {
public:
  explicit PairedTensors(std::unique_ptr<WeightSource> source)
      : source(std::move(source)), decoder(*findGgufDecoder(typeName)) {}

  Status pair();

  const std::string &name() const override { return source->name(); }
  const std::vector<TensorInfo> &tensors() const override { return infos; }
  void read(int tensor, int64_t first, std::span<float> out) const override;
  std::span<const float> inPlace(int tensor) const override {
    return isPair(tensor) ? std::span<const float>() : source->inPlace(places[tensor].first);
  }
  std::span<const std::byte> bytes(int tensor) const override {
    return isPair(tensor) ? std::span<const std::byte>() : source->bytes(places[tensor].first);
  }
  std::optional<DType> codeType(int tensor) const override {
    return isPair(tensor) ? std::optional(decoder.kept) : source->codeType(places[tensor].first);
  }
  std::optional<GroupCodes> codes(int tensor, int64_t first) const override;
  std::span<const std::string_view> readableTypes() const override { return types; }

private:
  /// Places in the source of a tensor, and of its scales; -1: not a pair.
  using Place = std::pair<int, int>;
  using Block = std::array<uint8_t, 1 + groupBytes>;
  bool isPair(int tensor) const { return places[tensor].second >= 0; }
  Error wrong(int tensor, const std::string &expected, const std::string &found) const {
    return inputError(
        name() + ": " +
        printable(source->tensors()[tensor].name + ": expected " + expected + ", found " + found));
  }
  Expected<TensorInfo> matrixOf(int blocks, int scales) const;
  Block blockAt(int tensor, int64_t group) const;

  std::unique_ptr<WeightSource> source;
  const GgufDecoder &decoder;
  std::vector<TensorInfo> infos;
  std::vector<Place> places;
  std::vector<std::string_view> types;
};

/// The name of the other tensor of a pair; empty if the name is not one of a pair.
std::string otherName(std::string_view name, std::string_view end, std::string_view other) {
  if (!name.ends_with(end) || name.size() == end.size())
    return {};
  return std::string(name.substr(0, name.size() - end.size())).append(other);
}

Expected<TensorInfo> PairedTensors::matrixOf(int blocks, int scales) const {
  const TensorInfo &codes = source->tensors()[blocks], &exponents = source->tensors()[scales];
  for (const int tensor : {blocks, scales})
    if (const std::string &type = source->tensors()[tensor].type; type != "u8")
      return wrong(tensor, "bytes, u8", type);
  if (codes.shape.size() < 3 || codes.shape.back() != groupBytes)
    return wrong(blocks, "rows of groups of 16 bytes, [..., 16]", shapeText(codes.shape));
  std::vector<int64_t> groups(codes.shape.begin(), codes.shape.end() - 1);
  if (exponents.shape != groups)
    return wrong(scales, shapeText(groups) + ", one scale for each group of " + codes.name,
                 shapeText(exponents.shape));
  groups.back() *= groupSize;
  return TensorInfo{codes.name.substr(0, codes.name.size() - blocksEnd.size()),
                    std::string(typeName), groups};
}

Status PairedTensors::pair() {
  std::ranges::copy(source->readableTypes(), std::back_inserter(types));
  types.push_back(typeName);
  const std::vector<TensorInfo> &all = source->tensors();
  for (int tensor = 0; tensor < static_cast<int>(all.size()); ++tensor) {
    const std::string &name = all[tensor].name;
    const std::string scales = otherName(name, blocksEnd, scalesEnd),
                      blocks = otherName(name, scalesEnd, blocksEnd);
    const std::string &other = scales.empty() ? blocks : scales;
    const int place = other.empty() ? -1 : source->find(other);
    if (!other.empty() && place < 0)
      return wrong(tensor, "the tensor " + other + " with it", "none");
    if (!blocks.empty())
      continue; // read with its blocks
    infos.push_back(place < 0 ? all[tensor] : HEDDLE_TRY(matrixOf(tensor, place)));
    places.emplace_back(tensor, place);
  }
  return {};
}

/// A block of GGUF's mxfp4: the exponent, then bytes whose codes are half a group apart.
PairedTensors::Block PairedTensors::blockAt(int tensor, int64_t group) const {
  const auto &[blocks, scales] = places[tensor];
  const std::byte *pairs = source->bytes(blocks).data() + group * groupBytes;
  auto codeAt = [&](int64_t element) {
    const auto both = static_cast<uint8_t>(pairs[element / 2]);
    return static_cast<uint8_t>(element % 2 == 0 ? both & 15 : both >> 4);
  };
  Block block{static_cast<uint8_t>(source->bytes(scales)[static_cast<size_t>(group)])};
  for (int64_t i = 0; i < groupBytes; ++i)
    block[1 + i] = static_cast<uint8_t>(codeAt(i) | codeAt(groupBytes + i) << 4);
  return block;
}

void PairedTensors::read(int tensor, int64_t first, std::span<float> out) const {
  if (!isPair(tensor))
    return source->read(places[tensor].first, first, out);
  while (!out.empty()) {
    float group[groupSize];
    decoder.decode(blockAt(tensor, first / groupSize).data(), group);
    const int64_t skipped = first % groupSize;
    const auto here = std::min(static_cast<int64_t>(out.size()), groupSize - skipped);
    std::copy_n(group + skipped, here, out.begin());
    first += here;
    out = out.subspan(static_cast<size_t>(here));
  }
}

std::optional<GroupCodes> PairedTensors::codes(int tensor, int64_t first) const {
  if (!isPair(tensor))
    return source->codes(places[tensor].first, first);
  if (first % groupSize != 0)
    return {};
  const GroupCodes group = decoder.codes(blockAt(tensor, first / groupSize).data(), 0);
  return isFiniteHalf(group.scale) ? std::optional(group) : std::nullopt;
}

} // namespace

Expected<std::unique_ptr<WeightSource>> withMxfp4(std::unique_ptr<WeightSource> source) {
  auto paired = std::make_unique<PairedTensors>(std::move(source));
  HEDDLE_TRY(paired->pair());
  return std::unique_ptr<WeightSource>(std::move(paired));
}

} // namespace heddle
