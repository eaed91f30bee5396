//===- FileTensors.cpp - Tensors in a mapped file -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FileTensors.h"

#include "heddle/Support/Float.h"
#include "heddle/Support/WideClones.h"

#include <cassert>
#include <cstring>

namespace heddle {

namespace {

template <float (*widened)(uint16_t)>
HEDDLE_IN_CLONE void widen(const std::byte *from, float *out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint16_t bits; // memcpy, since the data may be unaligned
    std::memcpy(&bits, from + i * 2, 2);
    out[i] = widened(bits);
  }
}
HEDDLE_WIDE_CLONES void widenHalves(const std::byte *from, float *out, size_t count) {
  widen<floatFromHalf>(from, out, count);
}
HEDDLE_WIDE_CLONES void widenBFloats(const std::byte *from, float *out, size_t count) {
  widen<floatFromBFloat>(from, out, count);
}

/// Rounds f64 to f32, as loading the model in f32 does.
void narrow(const std::byte *from, float *out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    double value; // memcpy, since the data may be unaligned
    std::memcpy(&value, from + i * sizeof value, sizeof value);
    out[i] = static_cast<float>(value);
  }
}

} // namespace

void FileTensors::read(int tensor, int64_t first, std::span<float> out) const {
  const std::string &type = infos[tensor].type;
  if (out.empty()) // an empty span may have a null address, which memcpy does not allow
    return;
  if (type == "f32") {
    std::memcpy(out.data(), data(tensor) + first * 4, out.size() * 4);
    return;
  }
  if (type == "f64") {
    narrow(data(tensor) + first * 8, out.data(), out.size());
    return;
  }
  assert((type == "f16" || type == "bf16") && "require() lets no other type pass");
  const std::byte *source = data(tensor) + first * 2;
  if (type == "f16")
    widenHalves(source, out.data(), out.size());
  else
    widenBFloats(source, out.data(), out.size());
}

std::span<const float> FileTensors::inPlace(int tensor) const {
  const std::byte *start = data(tensor);
  if (infos[tensor].type != "f32" || reinterpret_cast<uintptr_t>(start) % alignof(float) != 0)
    return {};
  return {reinterpret_cast<const float *>(start), static_cast<size_t>(infos[tensor].elements())};
}

} // namespace heddle
