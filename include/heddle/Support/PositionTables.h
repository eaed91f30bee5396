//===- PositionTables.h - Tables of positions ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generators of tables that programs name (Buffer::generator): the runtime
// fills memory with them, the tools draw them.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <span>
#include <string>

namespace heddle {

/// Fills a table, rows 0 … at the pitch of planned memory with zeros for padding, as a program names
/// it: `word(number, …)`, the word of a generator and its numbers. An error for any other text.
Status fillTable(const std::string &generator, std::span<float> memory);
/// Rows 0 … of sin(row / 10000^(2i/columns)) and cos in turn, computed in f64, padding zero.
void fillSinusoidal(int64_t columns, std::span<float> memory);

} // namespace heddle
