//===- PositionTables.h - Tables of positions ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generators of the tables that programs name (Buffer::generator). The runtime fills memory with
// them, and the tools draw them.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <span>
#include <string>

namespace heddle {

/// Fills a table: rows 0, 1, … at the pitch of planned memory, with zeros as padding. A program
/// names it as `word(number, …)`: a generator's name and its arguments. Error for any other text.
Status fillTable(const std::string &generator, std::span<float> memory);
/// Rows 0, 1, …: sin(row / 10000^(2i/columns)) and cos alternate. Computed in f64; padding is zero.
void fillSinusoidal(int64_t columns, std::span<float> memory);

} // namespace heddle
