//===- Fields.h - Reflection of structures and enumerations ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reflection of structures and enumerations. A structure lists its fields once, an enumeration its
// values. JSON, the text of ops, and comparison are derived from the list:
//
//   struct Check {
//     HEDDLE_ENUM(friend, Kind, Equal, AtMost)
//     Kind kind = Kind::Equal;
//     SizeExpr left;
//     HEDDLE_FIELDS(1, kind, left)
//   };
//
//   {"kind": "at_most", "left": "P"}      at_most "P"
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

/// Fields of a structure in the order of its text. In the text of ops, the first `Shown` fields are
/// always written, without names. The other fields are written with names, and only if they differ
/// from the structure's default.
#define HEDDLE_FIELDS(Shown, ...)                                                                  \
  static constexpr size_t shownFields = Shown;                                                     \
  static constexpr const char *fieldNames = #__VA_ARGS__;                                          \
  auto fields() { return std::tie(__VA_ARGS__); }                                                  \
  auto fields() const { return std::tie(__VA_ARGS__); }

/// An enumeration. `Scope` is `friend` inside a class and `inline` outside.
#define HEDDLE_ENUM(Scope, Name, ...)                                                              \
  enum class Name : uint8_t { __VA_ARGS__ };                                                       \
  Scope constexpr const char *enumNames(Name) { return #__VA_ARGS__; }

namespace heddle {

template <typename T>
concept Structure = requires(const T &value) {
  value.fields();
  T::shownFields;
};

/// Splits "stateDims, BF16" into {"state_dims", "bf16"}.
std::vector<std::string> snakeCaseWords(const char *names);

template <Structure T>
const std::vector<std::string> &fieldWords() {
  static const std::vector<std::string> words = snakeCaseWords(T::fieldNames);
  return words;
}
template <typename Enum>
const std::vector<std::string> &enumWords() {
  static const std::vector<std::string> words = snakeCaseWords(enumNames(Enum()));
  return words;
}

template <typename Enum>
const std::string &wordOf(Enum value) {
  return enumWords<Enum>()[static_cast<size_t>(value)];
}
/// Parses the name of a value; false if no value has this name.
template <typename Enum>
bool parseWord(std::string_view word, Enum &value) {
  const std::vector<std::string> &words = enumWords<Enum>();
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i] == word) {
      value = static_cast<Enum>(i);
      return true;
    }
  return false;
}

/// Calls `visit(name, field)` for each field, in order.
template <typename T, typename Visit>
void visitFields(T &value, Visit visit) {
  auto name = fieldWords<std::remove_const_t<T>>().begin();
  std::apply([&](auto &...field) { (visit(*name++, field), ...); }, value.fields());
}

template <Structure T>
bool operator==(const T &a, const T &b) {
  return a.fields() == b.fields();
}

} // namespace heddle
