//===- PositionTables.cpp - Tables of positions ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generators of tables. Rows have the pitch of planned memory, `padded(columns)`. A generator is a
// row of the list below: its name, its arguments, and the function that fills a table.

#include "heddle/Support/PositionTables.h"

#include "heddle/Support/Program.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>

namespace heddle {

//===- Filling -----------------------------------------------------------===//

/// Sets element e of row r to at(r, e), computed in f64; padding is zero.
static void fillRows(int64_t columns, std::span<float> memory,
                     const std::function<double(int64_t row, int64_t column)> &at) {
  int64_t pitch = padded(columns), rows = static_cast<int64_t>(memory.size()) / pitch;
  std::ranges::fill(memory, 0.0f);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < columns; ++i)
      memory[row * pitch + i] = static_cast<float>(at(row, i));
}

void fillSinusoidal(int64_t columns, std::span<float> memory) {
  std::vector<double> periods;
  for (int64_t i = 0; i < columns; i += 2)
    periods.push_back(std::pow(10000.0, static_cast<double>(i) / static_cast<double>(columns)));
  fillRows(columns, memory, [&](int64_t row, int64_t i) {
    double angle = static_cast<double>(row) / periods[i / 2];
    return i % 2 ? std::cos(angle) : std::sin(angle);
  });
}

/// Cosines of row * frequency times `magnitude`, followed by the sines.
static void fillRotation(double magnitude, std::span<const double> frequencies,
                         std::span<float> memory) {
  auto half = static_cast<int64_t>(frequencies.size());
  fillRows(2 * half, memory, [&](int64_t row, int64_t i) {
    double angle = static_cast<double>(row) * frequencies[i % half];
    return magnitude * (i < half ? std::cos(angle) : std::sin(angle));
  });
}

/// Cosines and sines for the frequencies base^(-2i/size) / factor.
static void fillRotary(int64_t size, double base, double factor, std::span<float> memory) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < size / 2; ++i)
    frequencies.push_back(
        std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(size)) / factor);
  fillRotation(1, frequencies, memory);
}

//===- Generators --------------------------------------------------------===//

namespace {
using Numbers = std::span<const double>;

struct Generator {
  std::string_view word, numbers; ///< `numbers` are the names of the arguments, for errors
  bool (*accepts)(Numbers);
  void (*fill)(Numbers, std::span<float>);
};
} // namespace

static bool isCount(double number) {
  constexpr double most = 1 << 20;
  return number >= 1 && number <= most && number == std::trunc(number);
}

static constexpr Generator generators[] = {
    {"sinusoidal", "columns", [](Numbers n) { return n.size() == 1 && isCount(n[0]); },
     [](Numbers n, std::span<float> memory) {
       fillSinusoidal(static_cast<int64_t>(n[0]), memory);
     }},
    {"rotary", "size, base[, factor]",
     [](Numbers n) {
       return (n.size() == 2 || (n.size() == 3 && n[2] > 0)) && isCount(n[0]) &&
              std::fmod(n[0], 2) == 0 && n[1] >= 1;
     },
     [](Numbers n, std::span<float> memory) {
       fillRotary(static_cast<int64_t>(n[0]), n[1], n.size() == 3 ? n[2] : 1, memory);
     }},
    {"rotation", "magnitude, frequency, …",
     [](Numbers n) {
       return n.size() >= 2 && n[0] > 0 &&
              std::ranges::all_of(n.subspan(1), [](double frequency) { return frequency >= 0; });
     },
     [](Numbers n, std::span<float> memory) { fillRotation(n[0], n.subspan(1), memory); }},
};

/// Parses numbers from "a, b)"; none for any other text.
static std::optional<std::vector<double>> numbersOf(std::string_view text) {
  std::vector<double> numbers;
  const char *at = text.data(), *end = at + text.size();
  while (true) {
    auto [stop, failure] = std::from_chars(at, end, numbers.emplace_back());
    std::string_view rest(stop, end);
    if (failure != std::errc() || !std::isfinite(numbers.back()))
      return std::nullopt;
    if (rest == ")")
      return numbers;
    if (!rest.starts_with(", "))
      return std::nullopt;
    at = stop + 2;
  }
}

Status fillTable(const std::string &generator, std::span<float> memory) {
  std::string known;
  for (const Generator &row : generators) {
    std::string head = std::string(row.word) + "(";
    known += (known.empty() ? "" : " or ") + head + std::string(row.numbers) + ")";
    if (!generator.starts_with(head))
      continue;
    auto numbers = numbersOf(std::string_view(generator).substr(head.size()));
    if (!numbers || !row.accepts(*numbers))
      continue;
    row.fill(*numbers, memory);
    return {};
  }
  return inputError("expected a table " + known + ", found '" + generator + "'");
}

} // namespace heddle
