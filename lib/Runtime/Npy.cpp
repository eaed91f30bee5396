//===- Npy.cpp - Reads and writes NumPy files -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and writing of .npy files. The header is a Python dictionary with three keys: a string, a
// bool and a tuple. Only the form that NumPy writes is read: its quotes, brackets and words are
// replaced by JSON's, and the result is parsed as JSON.
#include "heddle/Runtime/Npy.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

namespace heddle {

namespace {

constexpr char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/// Values of the dictionary.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Rewrites NumPy's dictionary as JSON. "True" becomes "true" by its first letter; a comma before a
/// closing bracket is dropped.
std::string asJson(std::string_view text) {
  auto closes = [&](size_t at) {
    at = text.find_first_not_of(" \t\n", at);
    return at != text.npos && (text[at] == ')' || text[at] == '}');
  };
  std::string json;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string_view rest = text.substr(i);
    if (text[i] == ',' && closes(i + 1))
      continue;
    json += rest.starts_with("True")    ? 't'
            : rest.starts_with("False") ? 'f'
            : text[i] == '\''           ? '"'
            : text[i] == '('            ? '['
            : text[i] == ')'            ? ']'
                                        : text[i];
  }
  return json;
}

/// Values of the dictionary; none if a key is missing or unknown, or if a value has the wrong type.
std::optional<Header> headerOf(const nlohmann::ordered_json &json) {
  if (!json.is_object() || json.size() != 3)
    return std::nullopt;
  auto descr = json.find("descr"), order = json.find("fortran_order"), shape = json.find("shape");
  if (descr == json.end() || order == json.end() || shape == json.end() || !descr->is_string() ||
      !order->is_boolean() || !shape->is_array() || shape->size() > 32)
    return std::nullopt;
  Header header{*descr, *order, {}};
  for (const auto &dim : *shape) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > INT64_MAX)
      return std::nullopt;
    header.shape.push_back(dim.get<int64_t>());
  }
  return header;
}

const char *descrOf(DType type) {
  switch (type) {
  case DType::F32:
    return "<f4";
  case DType::F16:
    return "<f2";
  case DType::I32:
    return "<i4";
  case DType::I64:
    return "<i8";
  case DType::Bool:
    return "|b1";
  case DType::BF16:
  case DType::I8:
  case DType::I4:
  case DType::SI8:
  case DType::SI6:
    break; // not NumPy's (bf16, i4), or never a caller's tensor (i8)
  }
  return "";
}

Expected<DType> typeOf(const std::string &descr, const std::string &name) {
  for (DType type : {DType::F32, DType::F16, DType::I32, DType::I64, DType::Bool})
    if (descr == descrOf(type))
      return type;
  return inputError(
      name + ": expected elements of type f32, f16, i32, i64 or bool (little endian), found " +
      quotedText(descr));
}

/// Number of bytes before the dictionary (magic, version and length field), and of the dictionary.
Expected<std::pair<size_t, size_t>> headerExtent(std::span<const std::byte> bytes,
                                                 const std::string &name) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), magic, sizeof magic) != 0)
    return inputError(name + ": expected a .npy file, found other contents");
  auto byte = [&](size_t i) { return std::to_integer<size_t>(bytes[i]); };
  size_t version = byte(6);
  if (version < 1 || version > 3)
    return inputError(name + ": expected .npy version 1, 2 or 3, found " + std::to_string(version));
  size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start)
    return inputError(name + ": expected a header, found the end of the file");
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1)
    length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - start)
    return inputError(name + ": expected a header of " + std::to_string(length) +
                      " bytes, found the end of the file");
  return std::pair{start, length};
}

Expected<Header> readHeader(std::string_view text, const std::string &name) {
  bool isPython = text.find_first_of("[]\\") == text.npos; // else asJson would accept JSON
  auto json = parseJson(isPython ? asJson(text) : "", name);
  std::optional<Header> header = json ? headerOf(*json) : std::nullopt;
  if (!header)
    return inputError(
        name + ": expected a header with descr, fortran_order and shape, found a damaged one");
  if (header->fortranOrder && header->shape.size() > 1)
    return inputError(
        name + ": expected C order, found Fortran order (save numpy.ascontiguousarray of it)");
  return *header;
}

} // namespace

Expected<Tensor> parseNpy(std::span<const std::byte> bytes, const std::string &name) {
  auto [start, length] = HEDDLE_TRY(headerExtent(bytes, name));
  auto header =
      HEDDLE_TRY(readHeader({reinterpret_cast<const char *>(bytes.data()) + start, length}, name));
  DType type = HEDDLE_TRY(typeOf(header.descr, name));
  Expected<int64_t> count = elementCount(header.shape, type);
  if (!count)
    return inputError(name + ": " + count.error().message);
  // Checked before allocation: a damaged header may claim more than the file holds.
  auto data = bytes.subspan(start + length);
  if (data.size() != static_cast<size_t>(*count * byteSize(type)))
    return inputError(name + ": expected " + std::to_string(*count * byteSize(type)) +
                      " bytes of data for shape " + shapeText(header.shape) + ", found " +
                      std::to_string(data.size()));
  Tensor tensor(type, std::move(header.shape));
  std::copy(data.begin(), data.end(), tensor.bytes().begin());
  if (type == DType::Bool) // a file may hold any byte for true; tensors hold 1
    for (uint8_t &value : tensor.values<uint8_t>())
      value = value != 0;
  return tensor;
}

Expected<Tensor> readNpy(const std::string &path) {
  auto file = HEDDLE_TRY(MappedBytes::openFile(path));
  return parseNpy(file.bytes(), path);
}

/// Writes version 1.0, whose header length has 16 bits; shapes are short enough.
std::string npyHeader(const Tensor &tensor) {
  std::string shape = "(";
  for (int64_t dim : tensor.shape())
    shape += std::to_string(dim) + (tensor.rank() == 1 ? "," : ", ");
  if (tensor.rank() > 1)
    shape.resize(shape.size() - 2);
  std::string text = std::string("{'descr': '") + descrOf(tensor.dtype()) +
                     "', 'fortran_order': False, 'shape': " + shape + "), }";
  size_t length = (10 + text.size() + 1 + 63) / 64 * 64 - 10;
  text.resize(length - 1, ' ');
  text += '\n';
  std::string header(magic, sizeof magic);
  header += {'\x01', '\x00', static_cast<char>(length & 255), static_cast<char>(length >> 8)};
  return header + text;
}

Status writeNpy(const std::string &path, const Tensor &tensor) {
  if (tensor.dtype() == DType::BF16)
    return inputError(path + ": expected a type that .npy files have, found bf16");
  auto file = HEDDLE_TRY(AtomicFile::create(path));
  std::span<const std::byte> bytes = tensor.bytes();
  HEDDLE_TRY(file.write(npyHeader(tensor)));
  HEDDLE_TRY(file.write({reinterpret_cast<const char *>(bytes.data()), bytes.size()}));
  return file.commit();
}

} // namespace heddle
