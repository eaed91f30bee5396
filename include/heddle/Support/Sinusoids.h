//===- Sinusoids.h - The table of sinusoidal positions ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one generator of tables that programs name (Buffer::generator): the runtime
// fills memory with it, the tools draw it.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <span>
#include <string>

namespace heddle {

/// Columns of "sinusoidal(columns)"; an error for any other generator.
Expected<int64_t> sinusoidalColumns(const std::string &generator);
/// Rows 0 … of sin(row / 10000^(2i/columns)) and cos in turn, computed in f64, padding zero.
void fillSinusoidal(int64_t columns, std::span<float> memory);

} // namespace heddle
