//===- Safetensors.cpp - Checkpoints in safetensors files ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing of safetensors headers. Tensors must fill the file without gaps or overlaps: the format
// requires it, and it makes hostile offsets impossible.

#include "heddle/Pack/Safetensors.h"

#include "FileTensors.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

namespace heddle {

namespace {

using Json = nlohmann::ordered_json;

/// Largest header that the format allows, in bytes.
constexpr uint64_t largestHeader = 100'000'000;
constexpr uint64_t prefixSize = 8;

struct FileType {
  const char *written, *name;
  int64_t bytes;
};
/// All types of the format. Only floats of 16 to 64 bits can be read, but a file may contain the
/// others.
constexpr FileType fileTypes[] = {
    {"F32", "f32", 4},   {"F16", "f16", 2},        {"BF16", "bf16", 2},     {"F64", "f64", 8},
    {"I64", "i64", 8},   {"I32", "i32", 4},        {"I16", "i16", 2},       {"I8", "i8", 1},
    {"U64", "u64", 8},   {"U32", "u32", 4},        {"U16", "u16", 2},       {"U8", "u8", 1},
    {"BOOL", "bool", 1}, {"F8_E4M3", "f8e4m3", 1}, {"F8_E5M2", "f8e5m2", 1}};

class Safetensors : public FileTensors {
public:
  using FileTensors::FileTensors;

  Status readHeader();

private:
  Status readTensor(const std::string &tensor, const Json &json);
  Status readType(TensorInfo &info, const Json &json, int64_t &bytes) const;
  Status readShape(TensorInfo &info, const Json &json, int64_t bytes, uint64_t &size) const;
  Status checkExtents() const;
};

/// Value of a size or an offset; none if it is not an unsigned integer or exceeds int64.
std::optional<uint64_t> asSize(const Json &json) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() > uint64_t(INT64_MAX))
    return std::nullopt;
  return json.get<uint64_t>();
}

/// The JSON header of a file. Errors begin with `path`.
Expected<std::string_view> headerOf(std::span<const std::byte> bytes, const std::string &path) {
  if (bytes.size() < prefixSize)
    return inputError(path + ": expected a safetensors file, found " +
                      std::to_string(bytes.size()) + " bytes");
  // The length is little-endian on every machine.
  uint64_t length = 0;
  for (size_t i = 0; i < prefixSize; ++i)
    length |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  uint64_t rest = bytes.size() - prefixSize;
  const bool fits = length <= largestHeader && length <= rest;
  std::string_view whole(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  std::string_view text = fits ? whole.substr(prefixSize, length) : std::string_view();
  // The first bytes of another format may be a plausible length, but no header follows them.
  if (std::string_view kind = foreignFile(whole); !text.starts_with('{') && !kind.empty())
    return inputError(path + ": expected a safetensors file, found " + std::string(kind));
  if (!fits)
    return inputError(path + ": expected a header of at most " +
                      std::to_string(std::min(rest, largestHeader)) + " bytes, found a length of " +
                      std::to_string(length));
  if (!text.starts_with('{'))
    return inputError(path + ": expected a header that begins with '{', found another file");
  return text;
}

Status Safetensors::readHeader() {
  std::span<const std::byte> bytes = file.bytes();
  const std::string_view text = HEDDLE_TRY(headerOf(bytes, path));
  auto json = HEDDLE_TRY(parseJson(text, path + ": header"));
  contents = bytes.subspan(prefixSize + text.size());
  for (const auto &[tensor, entry] : json.items())
    if (tensor != "__metadata__")
      HEDDLE_TRY(readTensor(tensor, entry));
  return checkExtents();
}

/// Reads an entry {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} without other fields.
Status Safetensors::readTensor(const std::string &tensor, const Json &json) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets"))
    return fail(tensor + ": expected dtype, shape and data_offsets, found other fields");
  TensorInfo info;
  info.name = tensor;
  int64_t bytes = 0; // of an element; 0 for an unknown type
  uint64_t size = 0;
  HEDDLE_TRY(readType(info, json["dtype"], bytes));
  HEDDLE_TRY(readShape(info, json["shape"], std::max<int64_t>(bytes, 1), size));
  const Json &offsets = json["data_offsets"];
  auto begin = offsets.is_array() && offsets.size() == 2 ? asSize(offsets[0]) : std::nullopt;
  auto end = begin ? asSize(offsets[1]) : std::nullopt;
  if (!end || *end < *begin || *end > contents.size())
    return fail(tensor + ": expected offsets within " + std::to_string(contents.size()) +
                " bytes of data, found " + offsets.dump().substr(0, 60));
  if (bytes != 0 && *end - *begin != size)
    return fail(tensor + ": expected " + std::to_string(size) + " bytes for " +
                shapeText(info.shape) + ", found " + std::to_string(*end - *begin));
  infos.push_back(std::move(info));
  extents.push_back({*begin, *end});
  return {};
}

/// Reads the type. An unknown type is kept as quoted text and rejected only if the tensor is
/// required.
Status Safetensors::readType(TensorInfo &info, const Json &json, int64_t &bytes) const {
  if (!json.is_string())
    return fail(info.name + ": expected a type, found " +
                quotedText(json.dump(-1, ' ', true, Json::error_handler_t::replace)));
  auto type = std::ranges::find_if(fileTypes, [&](const FileType &t) { return json == t.written; });
  bool known = type != std::end(fileTypes);
  info.type = known ? type->name : quotedText(json.get<std::string>());
  bytes = known ? type->bytes : 0;
  return {};
}

/// Reads the shape and computes the tensor's size in bytes. Overflow is an error here, so later
/// products of dimensions are safe.
Status Safetensors::readShape(TensorInfo &info, const Json &json, int64_t bytes,
                              uint64_t &size) const {
  Error wrong = fail(info.name + ": expected a shape that fits in the file, found " +
                     json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60));
  constexpr size_t mostDimensions = 32;
  if (!json.is_array() || json.size() > mostDimensions)
    return wrong;
  size = bytes;
  for (const Json &element : json) {
    auto dim = asSize(element);
    if (!dim || __builtin_mul_overflow(size, *dim, &size) || size > uint64_t(INT64_MAX))
      return wrong;
    info.shape.push_back(static_cast<int64_t>(*dim));
  }
  return {};
}

/// Checks that tensors, sorted by the offsets of their data, are contiguous and fill the file. The
/// order in the header may differ.
Status Safetensors::checkExtents() const {
  std::vector<size_t> order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return std::pair(extents[a].begin, extents[a].end) <
           std::pair(extents[b].begin, extents[b].end);
  });
  uint64_t end = 0;
  for (size_t index : order) {
    if (extents[index].begin != end)
      return fail(infos[index].name + ": expected data from byte " + std::to_string(end) +
                  " on (tensors neither overlap nor leave gaps), found " +
                  std::to_string(extents[index].begin));
    end = extents[index].end;
  }
  if (end != contents.size())
    return fail("expected " + std::to_string(end) + " bytes of data, found " +
                std::to_string(contents.size()));
  return {};
}

} // namespace

Expected<std::unique_ptr<WeightSource>> openSafetensors(const std::string &path) {
  auto file = HEDDLE_TRY(MappedBytes::openFile(path));
  auto source = std::make_unique<Safetensors>(std::move(file), path);
  HEDDLE_TRY(source->readHeader());
  return std::unique_ptr<WeightSource>(std::move(source));
}

Expected<std::map<std::string, std::string>> readMetadata(const std::string &path) {
  const auto file = HEDDLE_TRY(MappedBytes::openFile(path));
  const std::string_view text = HEDDLE_TRY(headerOf(file.bytes(), path));
  const Json json = HEDDLE_TRY(parseJson(text, path + ": header"));
  std::map<std::string, std::string> metadata;
  if (const auto found = json.find("__metadata__"); found != json.end())
    for (const auto &[key, value] : found->items())
      if (value.is_string())
        metadata[key] = value.get<std::string>();
  return metadata;
}

} // namespace heddle
