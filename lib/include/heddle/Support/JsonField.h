//===- JsonField.h - JSON values with their path ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Typed access to JSON. A missing value or one of another type is reported as the line `FILE:
// path.of.value: expected …, found …`.
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
  /// Error "expected …, found …" about this value.
  Error error(const std::string &expected, const std::string &found) const;
  Error expected(const std::string &what) const;

  /// The value of a key; none if it is missing or null.
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
  /// Accessors that return a default if the key is missing or null.
  Expected<int64_t> numberOr(const std::string &key, int64_t otherwise, int64_t least,
                             int64_t most) const;
  Expected<bool> flagAt(const std::string &key, bool otherwise) const;
  Expected<std::string> textOr(const std::string &key, const std::string &otherwise) const;

private:
  const nlohmann::ordered_json *json;
  std::string file, path;
};

/// Description of a value for messages.
std::string foundText(const nlohmann::ordered_json &value);

/// Looks up a word in a table of (word, value) pairs.
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
