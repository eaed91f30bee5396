//===- Text.h - Text from parts --------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few ways in which messages and reports are put together.
#pragma once

#include <concepts>
#include <cstdio>
#include <string>
#include <type_traits>

namespace heddle {

/// Strings, characters and whole numbers, one after the other.
template <typename... Parts>
std::string strCat(const Parts &...parts) {
  std::string text;
  auto append = [&](const auto &part) {
    using Part = std::decay_t<decltype(part)>;
    if constexpr (std::integral<Part> && !std::same_as<Part, char>)
      text += std::to_string(part);
    else
      text += part;
  };
  (append(parts), ...);
  return text;
}

/// What printf would print of numbers and short words.
template <typename... Values>
std::string formatted(const char *form, Values... values) {
  std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, form, values...)), ' ');
  std::snprintf(text.data(), text.size() + 1, form, values...);
  return text;
}

/// The texts of all elements of a list, with a separator between them.
template <typename List, typename TextOf>
std::string joined(const List &list, TextOf textOf, const char *separator = ", ") {
  std::string text;
  bool isFirst = true;
  for (const auto &element : list) {
    text += isFirst ? "" : separator;
    text += textOf(element);
    isFirst = false;
  }
  return text;
}

} // namespace heddle
