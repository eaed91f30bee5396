//===- FieldsJson.h - JSON of structures with fields -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An encoder and a decoder of structures that list their fields (Fields.h). Files may be damaged:
// the decoder tracks the path of the current value and stops at the first mismatch.
#pragma once

#include "heddle/Support/Fields.h"
#include "heddle/Support/SizeExpr.h"
#include "heddle/Support/Text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace heddle {

/// Form of a JSON text.
enum class JsonStyle : uint8_t {
  Program, ///< keys with underscores; an object has all fields; pairs are lists
  Facts,   ///< keys with dashes; defaults are left out; pairs with names form an object
};

/// `state_dims` or, in facts, `state-dims`.
template <JsonStyle style>
std::string spelled(std::string word) {
  if (style == JsonStyle::Facts)
    std::ranges::replace(word, '_', '-');
  return word;
}

template <JsonStyle style>
class FieldEncoder {
public:
  using Json = nlohmann::ordered_json;

  template <Structure T>
  static Json encode(const T &value) {
    if constexpr (requires { T::isList; })
      return std::apply([](const auto &...field) { return Json::array({encode(field)...}); },
                        value.fields());
    // An object that grows would copy its members, because their keys are constant.
    Json object = Json::object();
    auto &members = object.template get_ref<Json::object_t &>();
    members.reserve(fieldWords<T>().size());
    visitFields(value, [&](const std::string &name, const auto &field) {
      members.emplace_back(spelled<style>(name), encode(field));
    });
    if (style == JsonStyle::Facts) {
      const T standard;
      visitFields(standard, [&](const std::string &name, const auto &field) {
        if (auto found = object.find(spelled<style>(name)); *found == encode(field))
          object.erase(found);
      });
    }
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
    return spelled<style>(wordOf(value));
  }
  template <typename T>
    requires(T::isWordOrCount)
  static Json encode(const T &value) {
    return value.count ? encode(*value.count) : encode(value.word);
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
  template <typename T>
  static Json encode(const std::vector<std::pair<std::string, T>> &list) {
    return style == JsonStyle::Facts ? encodeNamed(list) : encodeList(list);
  }
  template <typename T>
  static Json encode(const std::map<std::string, T> &map) {
    return encodeNamed(map);
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
    Json::array_t array;
    array.reserve(std::size(list));
    for (const auto &element : list)
      array.push_back(encode(element));
    return array;
  }
  template <typename Map>
  static Json encodeNamed(const Map &map) {
    Json::object_t object;
    object.reserve(std::size(map));
    for (const auto &[name, value] : map)
      object.emplace(name, encode(value));
    return object;
  }
};

/// Reads structures until the first error.
template <JsonStyle style>
class FieldDecoder {
public:
  using Json = nlohmann::ordered_json;

  /// `place` is the path of the root in errors; it is empty or ends with ": " where no field is a
  /// part of it.
  explicit FieldDecoder(std::string place) : path(std::move(place)) {}
  std::optional<Error> failure;

  template <Structure T>
  void decode(const Json &json, T &value) {
    if constexpr (requires { T::isList; })
      return decodeAsList(json, value);
    if (!json.is_object())
      return mismatch("an object", json);
    visitFields(value, [&](const std::string &word, auto &field) {
      if (failure)
        return;
      const std::string name = spelled<style>(word);
      auto found = json.find(name);
      if (found == json.end() && style == JsonStyle::Facts)
        return;
      if (found == json.end())
        return fail("expected a field '" + name + "', found none");
      inside((isPlace() ? "" : ".") + name, [&] { decodeField(*found, field); });
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
  void decode(const Json &json, double &value) {
    if (!json.is_number())
      return mismatch("a number", json);
    value = json.get<double>();
  }
  template <typename T>
    requires std::is_integral_v<T>
  void decode(const Json &json, T &value) {
    // The parser represents numbers beyond int64 as unsigned or floating-point.
    bool fits = json.is_number_integer() &&
                (!json.is_number_unsigned() ||
                 json.get<uint64_t>() <= uint64_t(std::numeric_limits<int64_t>::max()));
    int64_t wide = fits ? json.get<int64_t>() : 0;
    if (style == JsonStyle::Facts &&
        (!fits || wide < 0 || wide > std::numeric_limits<int32_t>::max()))
      return mismatch("an id or a count", json);
    if (!fits || wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max())
      return mismatch("an integer of " + std::to_string(sizeof(T) * 8) + " bits", json);
    value = static_cast<T>(wide);
  }
  template <typename T>
    requires std::is_enum_v<T>
  void decode(const Json &json, T &value) {
    if (json.is_string())
      for (size_t i = 0; i < enumWords<T>().size(); ++i)
        if (json == spelled<style>(enumWords<T>()[i])) {
          value = static_cast<T>(i);
          return;
        }
    mismatch("one of " + listText(enumWords<T>(), spelled<style>), json);
  }
  template <typename T>
    requires(T::isWordOrCount)
  void decode(const Json &json, T &value) {
    value = {};
    json.is_number() ? decode(json, value.count.emplace()) : decode(json, value.word);
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
    list.clear();
    list.resize(json.size());
    decodeElements(json, list);
  }
  template <typename T, size_t N>
  void decode(const Json &json, std::array<T, N> &list) {
    if (!json.is_array() || json.size() != N)
      return mismatch("an array of " + std::to_string(N), json);
    decodeElements(json, list);
  }
  template <typename T>
    requires(style == JsonStyle::Facts)
  void decode(const Json &json, std::vector<std::pair<std::string, T>> &list) {
    decodeNamed(
        json, [&](const std::string &name) -> T & { return list.emplace_back(name, T()).second; });
  }
  template <typename T>
  void decode(const Json &json, std::map<std::string, T> &map) {
    decodeNamed(json, [&](const std::string &name) -> T & { return map[name]; });
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
    value.reset();
    if (!json.is_null())
      decode(json, value.emplace());
  }

private:
  /// In facts, null gives a field that is not optional its default.
  template <typename T>
  void decodeField(const Json &json, T &field) {
    constexpr bool isOptional = requires { field.reset(); };
    if (style == JsonStyle::Program || isOptional || !json.is_null())
      decode(json, field);
  }
  template <Structure T>
  void decodeAsList(const Json &json, T &value) {
    if (!json.is_array() || json.size() != fieldWords<T>().size())
      return mismatch("an array of " + std::to_string(fieldWords<T>().size()), json);
    size_t i = 0;
    visitFields(value, [&](const std::string &, auto &field) {
      inside("[" + std::to_string(i) + "]", [&] { decode(json[i], field); });
      ++i;
    });
  }
  template <typename Entry>
  void decodeNamed(const Json &json, Entry entry) {
    if (!json.is_object())
      return mismatch("an object", json);
    for (const auto &[name, value] : json.items())
      inside("." + printable(name), [&] { decode(value, entry(name)); });
  }
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
      if (std::ranges::none_of(known,
                               [&](const auto &word) { return spelled<style>(word) == name; }))
        return fail("expected known fields, found " + quotedText(name));
  }
  /// Keeps only the first error: later ones may be its consequences.
  void fail(const std::string &message) {
    if (!failure)
      failure = inputError(path + (isPlace() ? "" : ": ") + message);
  }
  bool isPlace() const { return path.empty() || path.ends_with(": "); }
  /// Error with the found value, cut to 40 bytes and escaped to ASCII.
  void mismatch(const std::string &expected, const Json &found) {
    std::string text = style == JsonStyle::Facts && found.is_string()
                           ? quotedText(found.get_ref<const std::string &>())
                           : found.dump(-1, ' ', true, Json::error_handler_t::replace);
    fail("expected " + expected + ", found " +
         (text.size() > 40 ? text.substr(0, 40) + "..." : text));
  }

  std::string path;
};

/// Decodes a structure; errors begin with `place`.
template <Structure T>
Expected<T> factsFrom(const nlohmann::ordered_json &json, const std::string &place) {
  T value;
  FieldDecoder<JsonStyle::Facts> decoder(place);
  decoder.decode(json, value);
  if (decoder.failure)
    return std::move(*decoder.failure);
  return value;
}

} // namespace heddle
