//===- Gguf.cpp - GGUF files: metadata and tensors --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading of GGUF files. Their layout is:
//
//   'GGUF', version, number of tensors, number of values
//   values    key, type, value
//   tensors   name, dimensions (fastest first), type, offset into the data
//   data      starts at a multiple of general.alignment, as does each tensor
//
// Numbers are little-endian. A count is compared with the minimum number of bytes that its elements
// take before anything is allocated for it.

#include "GgufReader.h"

#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_set>

namespace heddle {

namespace {

constexpr GgufBlocks blockTypes[] = {
    {0, "f32", 1, 4},         {1, "f16", 1, 2},         {2, "q4_0", 32, 18},
    {3, "q4_1", 32, 20},      {6, "q5_0", 32, 22},      {7, "q5_1", 32, 24},
    {8, "q8_0", 32, 34},      {9, "q8_1", 32, 40},      {10, "q2_k", 256, 84},
    {11, "q3_k", 256, 110},   {12, "q4_k", 256, 144},   {13, "q5_k", 256, 176},
    {14, "q6_k", 256, 210},   {15, "q8_k", 256, 292},   {16, "iq2_xxs", 256, 66},
    {17, "iq2_xs", 256, 74},  {18, "iq3_xxs", 256, 98}, {19, "iq1_s", 256, 50},
    {20, "iq4_nl", 32, 18},   {21, "iq3_s", 256, 110},  {22, "iq2_s", 256, 82},
    {23, "iq4_xs", 256, 136}, {24, "i8", 1, 1},         {25, "i16", 1, 2},
    {26, "i32", 1, 4},        {27, "i64", 1, 8},        {28, "f64", 1, 8},
    {29, "iq1_m", 256, 56},   {30, "bf16", 1, 2},       {34, "tq1_0", 256, 54},
    {35, "tq2_0", 256, 66},   {39, "mxfp4", 32, 17},    {40, "nvfp4", 64, 36},
    {41, "q1_0", 128, 18}};

/// Bytes of a number, or minimum bytes of a text or list.
uint64_t leastBytes(GgufType type) {
  switch (type) {
  case GgufType::U8:
  case GgufType::I8:
  case GgufType::Bool:
    return 1;
  case GgufType::U16:
  case GgufType::I16:
    return 2;
  case GgufType::U32:
  case GgufType::I32:
  case GgufType::F32:
    return 4;
  case GgufType::List:
    return 12;
  default:
    return 8;
  }
}

std::optional<int64_t> integerOf(GgufType type, std::string_view bytes) {
  switch (type) {
  case GgufType::U8:
    return littleEndian<uint8_t>(bytes);
  case GgufType::I8:
    return littleEndian<int8_t>(bytes);
  case GgufType::U16:
    return littleEndian<uint16_t>(bytes);
  case GgufType::I16:
    return littleEndian<int16_t>(bytes);
  case GgufType::U32:
    return littleEndian<uint32_t>(bytes);
  case GgufType::I32:
    return littleEndian<int32_t>(bytes);
  case GgufType::I64:
    return littleEndian<int64_t>(bytes);
  case GgufType::U64:
    if (auto value = littleEndian<uint64_t>(bytes); value <= uint64_t(INT64_MAX))
      return static_cast<int64_t>(value);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<double> numberOf(GgufType type, std::string_view bytes) {
  if (type == GgufType::F32)
    return littleEndian<float>(bytes);
  if (type == GgufType::F64)
    return littleEndian<double>(bytes);
  if (type == GgufType::U64)
    return static_cast<double>(littleEndian<uint64_t>(bytes));
  if (std::optional<int64_t> whole = integerOf(type, bytes))
    return static_cast<double>(*whole);
  return std::nullopt;
}

std::string_view typeName(GgufType type, bool many) {
  if (type == GgufType::Text)
    return many ? "texts" : "a text";
  if (type == GgufType::Bool)
    return many ? "booleans" : "a boolean";
  return many ? "numbers" : "a number";
}

} // namespace

//===- Values ------------------------------------------------------------===//

std::optional<std::string_view> GgufValue::text() const {
  return type == GgufType::Text ? std::optional(bytes) : std::nullopt;
}
std::optional<int64_t> GgufValue::integer() const { return integerOf(type, bytes); }
std::optional<double> GgufValue::number() const { return numberOf(type, bytes); }
std::optional<bool> GgufValue::flag() const {
  return type == GgufType::Bool ? std::optional(bytes[0] != 0) : std::nullopt;
}

std::optional<std::vector<std::string_view>> GgufValue::texts() const {
  if (type != GgufType::List || elements != GgufType::Text)
    return std::nullopt;
  std::vector<std::string_view> list;
  list.reserve(count);
  for (std::string_view rest = bytes; list.size() < count;) {
    const auto length = littleEndian<uint64_t>(rest);
    list.push_back(rest.substr(8, length));
    rest.remove_prefix(8 + length);
  }
  return list;
}

std::optional<std::vector<double>> GgufValue::numbers() const {
  if (type != GgufType::List || elements == GgufType::Text || elements == GgufType::Bool)
    return std::nullopt;
  std::vector<double> list;
  list.reserve(count);
  const uint64_t size = leastBytes(elements);
  for (uint64_t i = 0; i < count; ++i)
    list.push_back(*numberOf(elements, bytes.substr(i * size, size)));
  return list;
}

std::optional<std::vector<bool>> GgufValue::flags() const {
  if (type != GgufType::List || elements != GgufType::Bool)
    return std::nullopt;
  std::vector<bool> list;
  for (char byte : bytes.substr(0, count))
    list.push_back(byte != 0);
  return list;
}

std::string GgufValue::shown() const {
  if (type == GgufType::List)
    return "a list of " + std::to_string(count) + " " + std::string(typeName(elements, true));
  if (type == GgufType::Text)
    return quotedText(bytes);
  if (type == GgufType::Bool)
    return *flag() ? "true" : "false";
  if (std::optional<int64_t> whole = integer())
    return std::to_string(*whole);
  if (type == GgufType::U64)
    return std::to_string(littleEndian<uint64_t>(bytes));
  return formatted("%.9g", *number());
}

//===- Reading -----------------------------------------------------------===//

Status GgufReader::read() {
  if (!whole.starts_with("GGUF")) {
    const std::string_view kind = foreignFile(whole);
    return fail("expected a GGUF file, found " +
                (kind.empty() ? std::string("other bytes") : std::string(kind)));
  }
  at = 4;
  const auto version = HEDDLE_TRY(number<uint32_t>("version"));
  if (version != 2 && version != 3)
    return fail("version: expected 2 or 3, found " +
                (version != 0 && (version & 0xffff) == 0
                     ? "a file in big-endian order, which is not supported"
                     : std::to_string(version)));
  constexpr uint64_t leastTensor = 8 + 4 + 4 + 8, leastValue = 8 + 1 + 4 + 1;
  const auto tensors = HEDDLE_TRY(countOf("number of tensors", leastTensor, 8));
  const auto values = HEDDLE_TRY(countOf("number of values", leastValue));
  for (uint64_t i = 0; i < values; ++i) {
    const auto key = HEDDLE_TRY(text("key " + std::to_string(i)));
    HEDDLE_TRY(readValue(key));
  }
  HEDDLE_TRY(readAlignment());
  for (uint64_t i = 0; i < tensors; ++i)
    HEDDLE_TRY(readTensor());
  return placeTensors();
}

Expected<GgufType> GgufReader::type(const std::string &key) {
  const auto type = HEDDLE_TRY(number<uint32_t>(key));
  if (type > static_cast<uint32_t>(GgufType::F64))
    return fail(key + ": expected a type of a value below 13, found " + std::to_string(type));
  return static_cast<GgufType>(type);
}

Status GgufReader::readValue(std::string_view key) {
  const std::string place = key.size() <= 200 ? std::string(key) : quotedText(key);
  if (key.empty())
    return fail("expected a key with a name, found an empty one");
  GgufValue value;
  value.type = HEDDLE_TRY(type(place));
  HEDDLE_TRY(value.type == GgufType::List ? readList(place, value) : readScalar(place, value));
  if (!gguf.values.emplace(key, value).second)
    return fail(place + ": expected each key once, found it twice");
  return {};
}

Status GgufReader::readScalar(const std::string &key, GgufValue &value) {
  value.bytes = value.type == GgufType::Text ? HEDDLE_TRY(text(key))
                                             : HEDDLE_TRY(take(leastBytes(value.type), key));
  if (value.type == GgufType::Bool && static_cast<unsigned char>(value.bytes[0]) > 1)
    return fail(key + ": expected a boolean of 0 or 1, found " +
                std::to_string(static_cast<unsigned char>(value.bytes[0])));
  return {};
}

Status GgufReader::readList(const std::string &key, GgufValue &value) {
  value.elements = HEDDLE_TRY(type(key));
  if (value.elements == GgufType::List)
    return fail(key + ": expected a list of numbers, booleans or texts, found a list of lists, "
                      "which is not supported");
  const uint64_t least = leastBytes(value.elements);
  value.count = HEDDLE_TRY(countOf(key + ": number of elements", least));
  const uint64_t begin = at;
  if (value.elements != GgufType::Text)
    at += value.count * least;
  else
    for (uint64_t i = 0; i < value.count; ++i)
      if (auto element = text(key); !element)
        return element.takeError();
  value.bytes = whole.substr(begin, at - begin);
  return {};
}

Status GgufReader::readAlignment() {
  const GgufValue *value = gguf.find("general.alignment");
  if (!value)
    return {};
  const std::optional<int64_t> given = value->integer();
  constexpr int64_t most = 1 << 20;
  if (!given || *given < 1 || *given > most || !std::has_single_bit(uint64_t(*given)))
    return fail("general.alignment: expected a power of two up to 1048576, found " +
                value->shown());
  alignment = static_cast<uint64_t>(*given);
  return {};
}

/// Reads name, dimensions, type and offset. A tensor of an unknown type is kept, and rejected only
/// if it is required.
Status GgufReader::readTensor() {
  const std::string place = "tensor " + std::to_string(gguf.infos.size());
  const std::string_view name = HEDDLE_TRY(text(place));
  GgufTensor tensor;
  tensor.name = name;
  if (name.empty() || name.size() > 1000)
    return fail(place + ": expected a name of 1 to 1000 bytes, found one of " +
                std::to_string(name.size()));
  if (!names.insert(name).second)
    return fail(tensor.name + ": expected each tensor once, found it twice");
  int64_t bytes = 0;
  HEDDLE_TRY(readShape(tensor, bytes));
  const auto offset = HEDDLE_TRY(number<uint64_t>(tensor.name));
  if (offset % alignment != 0)
    return fail(tensor.name + ": expected an offset that is a multiple of " +
                std::to_string(alignment) + ", found " + std::to_string(offset));
  extents.emplace_back(offset, bytes);
  gguf.infos.push_back(std::move(tensor));
  return {};
}

Status GgufReader::readShape(GgufTensor &tensor, int64_t &bytes) {
  constexpr uint32_t mostDimensions = 4;
  const auto rank = HEDDLE_TRY(number<uint32_t>(tensor.name));
  if (rank > mostDimensions)
    return fail(tensor.name + ": expected at most " + std::to_string(mostDimensions) +
                " dimensions, found " + std::to_string(rank));
  int64_t elements = 1;
  for (uint32_t d = 0; d < rank; ++d) {
    const auto extent = HEDDLE_TRY(number<uint64_t>(tensor.name));
    // The number of bytes of any type stays far below 2^63. An extent of 0 would hide an overflow.
    if (extent < 1 || extent > uint64_t(INT64_MAX) ||
        __builtin_mul_overflow(elements, static_cast<int64_t>(extent), &elements) ||
        elements > INT64_MAX / 512)
      return fail(tensor.name + ": expected dimensions above 0 that fit in the file, found " +
                  std::to_string(extent));
    tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(extent));
  }
  const auto number = HEDDLE_TRY(this->number<uint32_t>(tensor.name));
  const auto *known = std::ranges::find(blockTypes, number, &GgufBlocks::number);
  if (known == std::end(blockTypes)) {
    tensor.type = "type " + std::to_string(number);
    tensor.blocks = nullptr;
    return {};
  }
  tensor.type = known->name;
  tensor.blocks = known;
  const int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (row % known->elements != 0)
    return fail(tensor.name + ": expected rows of whole blocks of " +
                std::to_string(known->elements) + " elements of " + tensor.type + ", found " +
                std::to_string(row) + " elements");
  bytes = elements / known->elements * known->bytes;
  return {};
}

/// Assigns bytes to tensors. Gaps between them are allowed for alignment, overlaps are not.
Status GgufReader::placeTensors() {
  if (gguf.infos.empty())
    return {};
  const uint64_t begin = (at + alignment - 1) / alignment * alignment;
  const uint64_t size = whole.size() > begin ? whole.size() - begin : 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto [offset, bytes] = extents[i];
    if (offset > size || bytes > size - offset)
      return fail(gguf.infos[i].name + ": expected " + std::to_string(bytes) + " bytes at " +
                  std::to_string(offset) + " within " + std::to_string(size) +
                  " bytes of data, found the end of the file");
    gguf.infos[i].bytes = gguf.files[0].bytes().subspan(begin + offset, bytes);
  }
  std::vector<size_t> order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](size_t i) { return extents[i]; });
  uint64_t end = 0;
  for (size_t i : order) {
    if (extents[i].first < end)
      return fail(gguf.infos[i].name + ": expected data from byte " + std::to_string(end) +
                  " on, where the tensor before it ends, found " +
                  std::to_string(extents[i].first));
    end = extents[i].first + extents[i].second;
  }
  return {};
}

Expected<Gguf> GgufReader::open(const std::string &path) {
  Gguf gguf;
  gguf.files.push_back(HEDDLE_TRY(MappedBytes::openFile(path)));
  gguf.path = path;
  HEDDLE_TRY(GgufReader(gguf).read());
  return gguf;
}

} // namespace heddle
