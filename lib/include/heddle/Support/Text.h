//===- Text.h - Text formatting --------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatting of lists and numbers in messages and reports.
#pragma once

#include <cstdio>
#include <functional>
#include <ranges>
#include <string>

namespace heddle {

/// printf to a string; values are numbers and C strings.
template <typename... Values>
std::string formatted(const char *form, Values... values) {
  std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, form, values...)), ' ');
  std::snprintf(text.data(), text.size() + 1, form, values...);
  return text;
}

/// Texts of a list's elements, separated by `separator`; "none" for an empty list.
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
/// The first `most` elements of a list that is not empty, and the number of further ones.
template <typename List, typename TextOf = std::identity>
std::string firstText(const List &list, size_t most, TextOf textOf = {}) {
  std::string text = listText(list | std::views::take(most), textOf);
  size_t size = std::ranges::size(list);
  return size > most ? text + " and " + std::to_string(size - most) + " more" : text;
}
/// Names of a list's elements, separated by commas; "none" for an empty list.
template <typename List>
std::string namesOf(const List &list) {
  return listText(list, [](const auto &element) -> const std::string & { return element.name; });
}

} // namespace heddle
