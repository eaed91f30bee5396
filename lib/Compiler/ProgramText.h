//===- ProgramText.h - A program as people read it -------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions, parameters and kernels of a program, for `heddle inspect`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Support/Program.h"

namespace heddle {

/// The text of a program; with values for its dimensions also sizes and costs of functions whose
/// dimensions are all given.
Expected<std::string> programText(const Program &program, const Dimensions &dims);

} // namespace heddle
