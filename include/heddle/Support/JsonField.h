//===- JsonField.h - Values of a file, with their path ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reader asks for what it needs; what is missing or of another type becomes the
// line `FILE: path.of.value: expected …, found …`.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

class JsonField {
public:
  JsonField(const nlohmann::ordered_json &value, std::string file, std::string path = "")
      : json(&value), file(std::move(file)), path(std::move(path)) {}

  const nlohmann::ordered_json &value() const { return *json; }
  /// "expected …, found …" of this value.
  Error error(const std::string &expected, const std::string &found) const;
  Error expected(const std::string &what) const;

  /// The value of a key, unless it is missing or null.
  std::optional<JsonField> find(const std::string &key) const;
  Expected<JsonField> get(const std::string &key) const;
  JsonField element(size_t index) const;

  Status checkObject() const;
  Expected<std::string> text() const;
  Expected<int64_t> number(int64_t least, int64_t most) const;
  Expected<std::vector<JsonField>> list() const;

  Expected<std::string> textAt(const std::string &key) const;
  Expected<int64_t> numberAt(const std::string &key, int64_t least, int64_t most) const;
  Expected<std::vector<JsonField>> listAt(const std::string &key) const;
  /// These take a key that is missing or null for a default.
  Expected<int64_t> numberOr(const std::string &key, int64_t otherwise, int64_t least,
                             int64_t most) const;
  Expected<bool> flagAt(const std::string &key, bool otherwise) const;
  Expected<std::string> textOr(const std::string &key, const std::string &otherwise) const;

private:
  const nlohmann::ordered_json *json;
  std::string file, path;
};

/// What a message says of a value.
std::string foundText(const nlohmann::ordered_json &value);

/// The choice of a word in a table of (word, value) pairs.
template <typename Value, size_t N>
Expected<Value> choiceOf(const JsonField &field,
                         const std::pair<const char *, Value> (&choices)[N]) {
  std::string known;
  for (const auto &[word, value] : choices) {
    if (field.value() == word)
      return value;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  return field.error("one of " + known, foundText(field.value()));
}

} // namespace heddle
