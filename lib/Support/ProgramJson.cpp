//===- ProgramJson.cpp - Manifests as JSON ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON of programs and manifests: an encoder and a decoder over the fields (Fields.h). Files may be
// damaged: the decoder tracks the path of the current value and stops at the first mismatch.

#include "ProgramJson.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace heddle {

namespace {

using Json = nlohmann::ordered_json;

class Encoder {
public:
  template <Structure T>
  static Json encode(const T &value) {
    Json object = Json::object();
    visitFields(value, [&](const std::string &name, const auto &field) {
      object.push_back({name, encode(field)});
    });
    return object;
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  static Json encode(T value) {
    return value;
  }
  template <typename T>
    requires std::is_enum_v<T>
  static Json encode(T value) {
    return wordOf(value);
  }
  static Json encode(const std::string &value) { return value; }
  static Json encode(const SizeExpr &value) { return value.str(); }
  template <typename T>
  static Json encode(const std::vector<T> &list) {
    return encodeList(list);
  }
  template <typename T, size_t N>
  static Json encode(const std::array<T, N> &list) {
    return encodeList(list);
  }
  template <typename A, typename B>
  static Json encode(const std::pair<A, B> &pair) {
    return Json::array({encode(pair.first), encode(pair.second)});
  }
  template <typename T>
  static Json encode(const std::optional<T> &value) {
    return value ? encode(*value) : Json();
  }

private:
  template <typename List>
  static Json encodeList(const List &list) {
    Json array = Json::array();
    for (const auto &element : list)
      array.push_back(encode(element));
    return array;
  }
};

/// Reads structures until the first error.
class Decoder {
public:
  explicit Decoder(std::string place) : path(std::move(place)) {}
  std::optional<Error> failure;

  template <Structure T>
  void decode(const Json &json, T &value) {
    if (!json.is_object())
      return mismatch("an object", json);
    visitFields(value, [&](const std::string &name, auto &field) {
      if (failure)
        return;
      auto found = json.find(name);
      if (found == json.end())
        return fail("expected a field '" + name + "', found none");
      inside((isPlace() ? "" : ".") + name, [&] { decode(*found, field); });
    });
    refuseUnknownFields(json, fieldWords<T>());
  }
  void decode(const Json &json, std::string &value) {
    if (!json.is_string())
      return mismatch("a string", json);
    value = json.get_ref<const std::string &>();
  }
  void decode(const Json &json, bool &value) {
    if (!json.is_boolean())
      return mismatch("true or false", json);
    value = json.get<bool>();
  }
  template <typename T>
    requires std::is_integral_v<T>
  void decode(const Json &json, T &value) {
    // The parser represents numbers beyond int64 as unsigned or floating-point.
    bool fits = json.is_number_integer() &&
                (!json.is_number_unsigned() ||
                 json.get<uint64_t>() <= uint64_t(std::numeric_limits<int64_t>::max()));
    int64_t wide = fits ? json.get<int64_t>() : 0;
    if (!fits || wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max())
      return mismatch("an integer of " + std::to_string(sizeof(T) * 8) + " bits", json);
    value = static_cast<T>(wide);
  }
  template <typename T>
    requires std::is_enum_v<T>
  void decode(const Json &json, T &value) {
    if (!json.is_string() || !parseWord(json.get_ref<const std::string &>(), value))
      mismatch("one of " + listText(enumWords<T>()), json);
  }
  void decode(const Json &json, SizeExpr &value) {
    if (!json.is_string())
      return mismatch("a size as a string", json);
    auto parsed = SizeExpr::parse(json.get_ref<const std::string &>());
    if (!parsed)
      return fail(parsed.error().message);
    value = std::move(*parsed);
  }
  template <typename T>
  void decode(const Json &json, std::vector<T> &list) {
    if (!json.is_array())
      return mismatch("an array", json);
    list.resize(json.size());
    decodeElements(json, list);
  }
  template <typename T, size_t N>
  void decode(const Json &json, std::array<T, N> &list) {
    if (!json.is_array() || json.size() != N)
      return mismatch("an array of " + std::to_string(N), json);
    decodeElements(json, list);
  }
  template <typename A, typename B>
  void decode(const Json &json, std::pair<A, B> &pair) {
    if (!json.is_array() || json.size() != 2)
      return mismatch("an array of 2", json);
    inside("[0]", [&] { decode(json[0], pair.first); });
    inside("[1]", [&] { decode(json[1], pair.second); });
  }
  template <typename T>
  void decode(const Json &json, std::optional<T> &value) {
    if (!json.is_null())
      decode(json, value.emplace());
  }

private:
  template <typename Body>
  void inside(const std::string &step, Body body) {
    if (failure)
      return;
    size_t length = path.size();
    path += step;
    body();
    path.resize(length);
  }
  template <typename List>
  void decodeElements(const Json &json, List &list) {
    for (size_t i = 0; i < json.size() && !failure; ++i)
      inside("[" + std::to_string(i) + "]", [&] { decode(json[i], list[i]); });
  }
  void refuseUnknownFields(const Json &object, const std::vector<std::string> &known) {
    if (failure || known.size() == object.size())
      return;
    for (const auto &[name, value] : object.items())
      if (std::find(known.begin(), known.end(), name) == known.end())
        return fail("expected known fields, found " + quotedText(name));
  }
  /// Keeps only the first error: later ones may be its consequences.
  void fail(const std::string &message) {
    if (!failure)
      failure = inputError(path + (isPlace() ? "" : ": ") + message);
  }
  bool isPlace() const { return path.ends_with(": "); }
  /// Error with the found value, cut to 40 bytes and escaped to ASCII.
  void mismatch(const std::string &expected, const Json &found) {
    std::string text = found.dump(-1, ' ', true, Json::error_handler_t::replace);
    fail("expected " + expected + ", found " +
         (text.size() > 40 ? text.substr(0, 40) + "..." : text));
  }

  std::string path;
};

} // namespace

template <typename T>
static std::string textOf(const T &value) {
  return Encoder::encode(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// `place` is the path of the root in errors: "program", or "m.heddle: " for an empty path.
template <typename T>
static Expected<T> readAs(const Json &json, const std::string &place) {
  T value;
  Decoder decoder(place);
  decoder.decode(json, value);
  if (decoder.failure)
    return std::move(*decoder.failure);
  return value;
}

static Status checkProgram(const Program &program, const std::string &place) {
  Status valid = validate(program);
  return valid ? valid : inputError(place + ": " + valid.error().message);
}

std::string toJson(const Program &program) { return textOf(program); }
std::string toJson(const Manifest &manifest) { return textOf(manifest); }

Expected<Program> programFromJson(std::string_view text) {
  Program program = HEDDLE_TRY(readAs<Program>(HEDDLE_TRY(parseJson(text, "program")), "program"));
  HEDDLE_TRY(checkProgram(program, "program"));
  return program;
}

/// Checked before all other fields, which may differ in a file of another version.
static Status checkVersion(const Json &json, const std::string &place) {
  if (!json.is_object() || !json.contains("heddle") || !json["heddle"].is_number_integer())
    return inputError(place + ": expected a format version in field 'heddle', found none");
  if (json["heddle"] == artifactFormat)
    return {};
  return inputError(place + ": expected format version " + std::to_string(artifactFormat) +
                    ", found " + json["heddle"].dump() +
                    (json["heddle"] > artifactFormat
                         ? ", made by a newer Heddle"
                         : ", made by an older Heddle: compile the model again"));
}

Expected<Manifest> manifestFromJson(std::string_view text, const std::string &place) {
  Json json = HEDDLE_TRY(parseJson(text, place));
  HEDDLE_TRY(checkVersion(json, place));
  Manifest manifest = HEDDLE_TRY(readAs<Manifest>(json, place + ": "));
  HEDDLE_TRY(checkProgram(manifest.program, place + ": program"));
  return manifest;
}

} // namespace heddle
