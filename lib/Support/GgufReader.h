//===- GgufReader.h - Reader of one GGUF file -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reader of one GGUF file, which may be a part of a model (GgufParts.cpp).
#pragma once

#include "heddle/Support/Gguf.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <bit>
#include <unordered_set>

namespace heddle {

/// A little-endian number.
template <typename T>
T littleEndian(std::string_view bytes) {
  uint64_t bits = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    bits |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(bits);
  else
    return static_cast<T>(bits);
}

/// Reads a file from its beginning. Missing bytes are an error at their place.
class GgufReader {
public:
  /// Maps one file and checks everything except the numbers in the tensors.
  static Expected<Gguf> open(const std::string &path);

private:
  explicit GgufReader(Gguf &gguf) : gguf(gguf) {
    const std::span<const std::byte> all = gguf.files[0].bytes();
    whole = {reinterpret_cast<const char *>(all.data()), all.size()};
  }
  Status read();

  /// Names of keys and tensors are arbitrary text, but a message is one line.
  Error fail(const std::string &message) const {
    return inputError(gguf.path + ": " + printable(message));
  }
  uint64_t left() const { return whole.size() - at; }
  Expected<std::string_view> take(uint64_t bytes, const std::string &what) {
    if (bytes > left())
      return fail(what + ": expected " + std::to_string(bytes) + " bytes, found " +
                  std::to_string(left()) + " before the end of the file");
    std::string_view taken = whole.substr(at, bytes);
    at += bytes;
    return taken;
  }
  template <typename T>
  Expected<T> number(const std::string &what) {
    return littleEndian<T>(HEDDLE_TRY(take(sizeof(T), what)));
  }
  Expected<std::string_view> text(const std::string &what) {
    const auto length = HEDDLE_TRY(number<uint64_t>(what));
    return take(length, what);
  }
  /// A number of elements of at least `least` bytes each, which must fit in the file.
  Expected<uint64_t> countOf(const std::string &what, uint64_t least, uint64_t reserved = 0) {
    const auto count = HEDDLE_TRY(number<uint64_t>(what));
    const uint64_t room = left() > reserved ? left() - reserved : 0;
    if (count > room / least)
      return fail(what + ": expected at most " + std::to_string(room / least) +
                  ", which the file has room for, found " + std::to_string(count));
    return count;
  }
  Expected<GgufType> type(const std::string &key);
  Status readValue(std::string_view key);
  Status readScalar(const std::string &key, GgufValue &value);
  Status readList(const std::string &key, GgufValue &value);
  Status readTensor();
  Status readShape(GgufTensor &tensor, int64_t &bytes);
  Status readAlignment();
  Status placeTensors();

  Gguf &gguf;
  std::string_view whole;
  uint64_t at = 0, alignment = 32;
  std::vector<std::pair<uint64_t, uint64_t>> extents; ///< offset and size of each tensor
  std::unordered_set<std::string_view> names;
};

} // namespace heddle
