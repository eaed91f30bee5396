//===- Scanners.h - Regular expressions that most models use ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hand-written scanners read a text once. Their matches cover every code point.
#pragma once

#include "Pattern.h"

namespace heddle::tokenizers {

/// The scanner of a regular expression; null if it has to be interpreted.
std::unique_ptr<Pattern> scannerOf(std::string_view regex);

} // namespace heddle::tokenizers
