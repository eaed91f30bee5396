//===- Schema.h - JSON as its schema wants it ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys, types, bounds, words and defaults of a description stand in
// model-description.schema.json and nowhere else. A document is checked against
// it once; behind that, Keys finds values: an object may be overridden key by
// key, by the stack and by the layer, and what nobody gives has its default.
#pragma once

#include "heddle/Support/Error.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace heddle {

using Json = nlohmann::ordered_json;

/// Keeps the first error of a file; reading goes on, so that nobody hands errors around.
class ErrorSink {
public:
  explicit ErrorSink(std::string file) : file(std::move(file)) {}
  /// `FILE: PATH: expected …, found …`
  void expected(const std::string &path, const std::string &what, const std::string &found);
  void add(const std::string &path, const std::string &message);
  /// A key that the schema does not have, and what is meant perhaps. All of them are one error, which
  /// comes before the others.
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

/// Reports what the schema of model descriptions does not allow.
void checkDescription(const Json &document, ErrorSink &errors);

/// The keys of one object, as all places together give it.
class Keys {
public:
  Keys() = default;
  /// Of a whole description, which has to outlive its keys.
  explicit Keys(const Json &document);

  /// The objects under a key, in all places; a null is none.
  Keys object(const std::string &key) const;
  /// The object at `index` of the array under a key.
  Keys item(const std::string &key, size_t index) const;
  /// The places of both, those of `inner` looked up first.
  Keys overriddenBy(const Keys &inner) const;

  /// The value that the innermost place gives; null pointer: none does.
  const Json *find(const std::string &key) const;
  bool has(const std::string &key) const { return find(key); }
  bool isNull(const std::string &key) const { return has(key) && find(key)->is_null(); }
  /// Given, and not as null.
  bool gives(const std::string &key) const { return has(key) && !isNull(key); }
  /// Where the value stands, or should.
  std::string path(const std::string &key) const;

  /// The value or its default; none where that is null, or said in words.
  template <typename T>
  std::optional<T> maybe(const std::string &key) const {
    const Json *value = has(key) ? find(key) : standard(key);
    bool text = std::is_same_v<T, std::string>;
    if (!value || value->is_null() || value->is_string() != text)
      return std::nullopt;
    return value->get<T>();
  }
  /// The same where there is always one.
  template <typename T>
  T get(const std::string &key, T otherwise = {}) const {
    return maybe<T>(key).value_or(otherwise);
  }
  /// A word, or a list of them; none where the value is null.
  std::vector<std::string> words(const std::string &key) const {
    if (!gives(key))
      return {};
    const Json &value = *find(key);
    return value.is_array() ? value.get<std::vector<std::string>>()
                            : std::vector{value.get<std::string>()};
  }
  /// A number, or a list of them; the default where nothing is said, none where the value is null.
  std::vector<int64_t> numbers(const std::string &key) const {
    const Json *value = has(key) ? find(key) : standard(key);
    if (!value || value->is_null())
      return {};
    return value->is_array() ? value->get<std::vector<int64_t>>()
                             : std::vector{value->get<int64_t>()};
  }
  bool is(const std::string &key, const char *word) const { return get<std::string>(key) == word; }

  /// Reports keys that stand beside a value of another key that excludes them (`only`).
  void checkOnly(ErrorSink &errors) const;
  /// Reports a key that has to be there.
  bool require(const std::string &key, ErrorSink &errors) const;

private:
  struct Object {
    const Json *object;
    std::string path; ///< of the object, "" for the whole file
  };
  const Object *placeOf(const std::string &key) const;
  const Json *entry(const std::string &key) const;
  const Json *standard(const std::string &key) const;

  std::vector<Object> places; ///< outermost first
  const Json *schema = nullptr;
  std::string nowhere; ///< the path of the object where no place has it
};

/// The text of the schema, as Import.h offers it.
std::string modelDescriptionSchema();

/// Reads and parses a JSON file.
Expected<Json> readJsonFile(const std::string &path);
/// The same; any value but an object is an error.
Expected<Json> readJsonObject(const std::string &path);
/// The configuration of a Hugging Face folder.
std::string configPath(const std::string &folder);

/// Whether a value is an integer of at least 1.
bool isSize(const Json &value);

/// How an error shows a value: short, on one line.
std::string shown(const Json &value);

} // namespace heddle
