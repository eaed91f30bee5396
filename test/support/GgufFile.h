//===- GgufFile.h - Builder of GGUF files for tests -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds valid GGUF files from values and tensors, and exposes the parts from which a test builds
// invalid ones.
#pragma once

#include "heddle/Support/Gguf.h"

#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace heddle::test {

class GgufFile {
public:
  template <typename T>
  static std::string number(T value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  }
  static std::string text(std::string_view content) {
    return number<uint64_t>(content.size()) + std::string(content);
  }
  static std::string type(GgufType type) { return number(static_cast<uint32_t>(type)); }

  /// Adds a value as the bytes that follow the key.
  GgufFile &raw(std::string_view key, const std::string &bytes) {
    values += text(key) + bytes;
    ++valueCount;
    return *this;
  }
  GgufFile &add(std::string_view key, std::string_view value) {
    return raw(key, type(GgufType::Text) + text(value));
  }
  GgufFile &add(std::string_view key, const char *value) {
    return add(key, std::string_view(value));
  }
  GgufFile &add(std::string_view key, uint32_t value) {
    return raw(key, type(GgufType::U32) + number(value));
  }
  GgufFile &add(std::string_view key, float value) {
    return raw(key, type(GgufType::F32) + number(value));
  }
  GgufFile &add(std::string_view key, bool value) {
    return raw(key, type(GgufType::Bool) + number(uint8_t(value)));
  }
  GgufFile &add(std::string_view key, const std::vector<std::string> &list) {
    std::string bytes = type(GgufType::List) + type(GgufType::Text) + number<uint64_t>(list.size());
    for (const std::string &element : list)
      bytes += text(element);
    return raw(key, bytes);
  }
  template <typename T>
  GgufFile &addNumbers(std::string_view key, GgufType elements, const std::vector<T> &list) {
    std::string bytes = type(GgufType::List) + type(elements) + number<uint64_t>(list.size());
    for (T element : list)
      bytes += number(element);
    return raw(key, bytes);
  }

  /// The info of a tensor; `shape` begins with the rows.
  static std::string info(std::string_view name, const std::vector<uint64_t> &shape, uint32_t type,
                          uint64_t offset) {
    std::string bytes = text(name) + number(static_cast<uint32_t>(shape.size()));
    for (size_t d = shape.size(); d-- > 0;)
      bytes += number(shape[d]);
    return bytes + number(type) + number(offset);
  }
  GgufFile &tensor(std::string_view name, const std::vector<uint64_t> &shape, uint32_t type,
                   const std::string &bytes) {
    infos += info(name, shape, type, data.size());
    data += bytes;
    data.resize((data.size() + 31) / 32 * 32, '\0');
    ++tensorCount;
    return *this;
  }
  GgufFile &tensor(std::string_view name, const std::vector<uint64_t> &shape,
                   const std::vector<float> &elements) {
    return tensor(name, shape, 0,
                  {reinterpret_cast<const char *>(elements.data()), 4 * elements.size()});
  }

  /// The file. The second overload builds it from parts that may be invalid.
  std::string bytes() const { return bytes(3, tensorCount, valueCount, values + infos, data); }
  static std::string bytes(uint32_t version, uint64_t tensors, uint64_t valuesThere,
                           const std::string &parts, const std::string &data) {
    std::string file = "GGUF" + number(version) + number(tensors) + number(valuesThere) + parts;
    if (!data.empty())
      file.resize((file.size() + 31) / 32 * 32, '\0');
    return file + data;
  }

private:
  std::string values, infos, data;
  uint64_t valueCount = 0, tensorCount = 0;
};

} // namespace heddle::test
