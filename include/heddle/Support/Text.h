//===- Text.h - Text from parts --------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists and numbers as messages and reports write them.
#pragma once

#include <cstdio>
#include <functional>
#include <ranges>
#include <string>

namespace heddle {

/// What printf makes of numbers and C strings.
template <typename... Values>
std::string formatted(const char *form, Values... values) {
  std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, form, values...)), ' ');
  std::snprintf(text.data(), text.size() + 1, form, values...);
  return text;
}

/// The texts of all elements of a list, with a separator between them; "none" of an empty list.
template <typename List, typename TextOf = std::identity>
std::string listText(const List &list, TextOf textOf = {}, const char *separator = ", ") {
  std::string text;
  const char *before = "";
  for (const auto &element : list) {
    text.append(before).append(std::invoke(textOf, element));
    before = separator;
  }
  return std::ranges::empty(list) ? "none" : text;
}
/// The names of all elements, by commas.
template <typename List>
std::string namesOf(const List &list) {
  return listText(list, [](const auto &element) -> const std::string & { return element.name; });
}

} // namespace heddle
