//===- Schema.h - Checking JSON against a schema ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// model-description.schema.json alone defines the keys, types, bounds, words and defaults of a
// description. A document is checked once; then Keys looks up values. An object may be overridden
// key by key, by the stack and by the layer, and missing keys have defaults.
#pragma once

#include "heddle/Support/Error.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace heddle {

using Json = nlohmann::ordered_json;

/// Keeps the first error of a file. Reading continues after it, so readers need not return errors.
class ErrorSink {
public:
  explicit ErrorSink(std::string file) : file(std::move(file)) {}
  /// `FILE: PATH: expected …, found …`
  void expected(const std::string &path, const std::string &what, const std::string &found);
  void add(const std::string &path, const std::string &message);
  /// Reports a key that the schema lacks, with a suggestion. All unknown keys form one error, which
  /// precedes the others.
  void unknownKey(const std::string &path, const std::string &key, const std::string &hint);
  bool failed() const { return first.has_value() || !unknown.empty(); }
  Error take();
  const std::string file;

private:
  struct UnknownKey {
    std::string path, key, hint;
  };
  std::optional<Error> first;
  std::vector<UnknownKey> unknown;
};

/// Reports violations of the schema of model descriptions.
void checkDescription(const Json &document, ErrorSink &errors);

/// The schema of `target.generation`. Its properties also name the settings of Transformers.
const Json &generationSchema();

/// The keys of one object, merged from all places that give it.
class Keys {
public:
  Keys() = default;
  /// Keys of a whole description, which must outlive them.
  explicit Keys(const Json &document);

  /// Objects under a key in all places; null gives no keys.
  Keys object(const std::string &key) const;
  /// Object at `index` of the array under a key.
  Keys item(const std::string &key, size_t index) const;
  /// The places of both; `inner` takes precedence.
  Keys overriddenBy(const Keys &inner) const;

  /// Value at the innermost place; null pointer if absent.
  const Json *find(const std::string &key) const;
  bool has(const std::string &key) const { return find(key); }
  bool isNull(const std::string &key) const { return has(key) && find(key)->is_null(); }
  /// Returns whether the key is given and not null.
  bool gives(const std::string &key) const { return has(key) && !isNull(key); }
  /// Path of the value, or of the place where it belongs.
  std::string path(const std::string &key) const;

  /// The value or its default; none if it is null or a value of the other kind (text or not).
  template <typename T>
  std::optional<T> maybe(const std::string &key) const {
    const Json *value = has(key) ? find(key) : standard(key);
    bool text = std::is_same_v<T, std::string>;
    if (!value || value->is_null() || value->is_string() != text)
      return std::nullopt;
    return value->get<T>();
  }
  /// As above, for keys that always have a value.
  template <typename T>
  T get(const std::string &key, T otherwise = {}) const {
    return maybe<T>(key).value_or(otherwise);
  }
  /// A word or a list of words; empty if the value is null.
  std::vector<std::string> words(const std::string &key) const {
    if (!gives(key))
      return {};
    const Json &value = *find(key);
    return value.is_array() ? value.get<std::vector<std::string>>()
                            : std::vector{value.get<std::string>()};
  }
  /// A number or a list of numbers; the default if absent, empty if null.
  std::vector<int64_t> numbers(const std::string &key) const {
    const Json *value = has(key) ? find(key) : standard(key);
    if (!value || value->is_null())
      return {};
    return value->is_array() ? value->get<std::vector<int64_t>>()
                             : std::vector{value->get<int64_t>()};
  }
  bool is(const std::string &key, const char *word) const { return get<std::string>(key) == word; }

  /// Reports keys that the value of another key excludes (`only`).
  void checkOnly(ErrorSink &errors) const;
  /// Reports a missing key; returns whether it is there.
  bool require(const std::string &key, ErrorSink &errors) const;

private:
  struct Object {
    const Json *object;
    std::string path; ///< path of the object; "" for the whole file
  };
  const Object *placeOf(const std::string &key) const;
  const Json *entry(const std::string &key) const;
  const Json *standard(const std::string &key) const;

  std::vector<Object> places; ///< outermost first
  const Json *schema = nullptr;
  std::string nowhere; ///< path of the object that no place has
};

/// Text of the schema (see Import.h).
std::string modelDescriptionSchema();

/// Reads and parses a JSON file.
Expected<Json> readJsonFile(const std::string &path);
/// As above; an error unless the value is an object.
Expected<Json> readJsonObject(const std::string &path);
/// Path of the configuration of a Hugging Face folder.
std::string configPath(const std::string &folder);

/// Returns whether a value is an integer of at least 1.
bool isSize(const Json &value);

/// Formats a value for an error, short and on one line.
std::string shown(const Json &value);

} // namespace heddle
