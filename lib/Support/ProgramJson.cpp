//===- ProgramJson.cpp - Programs as JSON ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two visitors over the fields of a program. The reader believes nothing: it
// keeps the path of the value at hand, and the first thing that is not as it
// should be becomes the error.

#include "ProgramJson.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <limits>

namespace heddle {

namespace {

using Json = nlohmann::ordered_json;

class Writer {
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

/// Reads structures; after the first error it does nothing.
class Reader {
public:
  explicit Reader(std::string place) : path(std::move(place)) {}
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
      inside("." + name, [&] { decode(*found, field); });
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
    // Anything past int64 arrives as unsigned or as a float.
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
      mismatch("one of " + commaSeparated(enumWords<T>()), json);
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
  /// Only the first error counts: later ones may follow from it.
  void fail(const std::string &message) {
    if (!failure)
      failure = inputError(path + ": " + message);
  }
  /// Shows the value found, cut short; bytes that are no ASCII are escaped.
  void mismatch(const std::string &expected, const Json &found) {
    std::string text = found.dump(-1, ' ', true, Json::error_handler_t::replace);
    fail("expected " + expected + ", found " +
         (text.size() > 40 ? text.substr(0, 40) + "..." : text));
  }

  std::string path;
};

} // namespace

Json programToValue(const Program &program) { return Writer::encode(program); }

Expected<Program> programFromValue(const Json &value, const std::string &place) {
  Program program;
  Reader reader(place);
  reader.decode(value, program);
  if (reader.failure)
    return std::move(*reader.failure);
  if (Status valid = validate(program); !valid)
    return inputError(place + ": " + valid.error().message);
  return program;
}

std::string toJson(const Program &program) {
  return programToValue(program).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Expected<Program> programFromJson(std::string_view text) {
  auto value = HEDDLE_TRY(parseJson(text, "program"));
  return programFromValue(value, "program");
}

} // namespace heddle
