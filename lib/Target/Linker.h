//===- Linker.h - LLD in process -------------------------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Objects to one shared object.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Support/Error.h"

#include <string>
#include <vector>

namespace heddle {

/// Links ELF objects (bytes) into a shared object that imports nothing; an undefined symbol is an
/// error that names it.
Expected<std::vector<char>> linkSharedObject(const std::vector<std::string> &objects);

} // namespace heddle
