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

#include <functional>

namespace heddle {

/// Whether all dimensions of a function have values.
bool allKnown(const Function &function, const Dimensions &dims);

/// The text of a program; with values for its dimensions also sizes and costs of functions whose
/// dimensions are all given. `more` gives what follows the facts of a function.
Expected<std::string>
programText(const Program &program, const Dimensions &dims,
            const std::function<Expected<std::string>(const Function &)> &more);

} // namespace heddle
