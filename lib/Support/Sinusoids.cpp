//===- Sinusoids.cpp - Tables of positions --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows are at the pitch of planned memory, `padded(columns)`.

#include "heddle/Support/Sinusoids.h"

#include "heddle/Support/Program.h"

#include <charconv>
#include <cmath>

namespace heddle {

Status fillTable(const std::string &generator, std::span<float> memory) {
  constexpr std::string_view prefix = "sinusoidal(";
  int64_t columns = 0;
  if (generator.starts_with(prefix) && generator.ends_with(")")) {
    const char *end = generator.data() + generator.size() - 1;
    auto [stop, failure] = std::from_chars(generator.data() + prefix.size(), end, columns);
    if (failure == std::errc() && stop == end && columns > 0) {
      fillSinusoidal(columns, memory);
      return {};
    }
  }
  return inputError("expected a table sinusoidal(columns), found '" + generator + "'");
}

void fillSinusoidal(int64_t columns, std::span<float> memory) {
  int64_t pitch = padded(columns), rows = static_cast<int64_t>(memory.size()) / pitch;
  std::vector<double> periods;
  for (int64_t i = 0; i < columns; i += 2)
    periods.push_back(std::pow(10000.0, static_cast<double>(i) / static_cast<double>(columns)));
  for (int64_t row = 0; row < rows; ++row) {
    float *to = memory.data() + row * pitch;
    for (int64_t i = 0; i < pitch; ++i) {
      double angle = i < columns ? static_cast<double>(row) / periods[i / 2] : 0;
      to[i] = i < columns ? static_cast<float>(i % 2 ? std::cos(angle) : std::sin(angle)) : 0;
    }
  }
  for (size_t i = static_cast<size_t>(rows * pitch); i < memory.size(); ++i)
    memory[i] = 0;
}

} // namespace heddle
