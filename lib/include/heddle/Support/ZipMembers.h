//===- ZipMembers.h - Members of any ZIP file -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the members of ZIP files of other programs. Containers of Heddle have a stricter reader
// (Container.h).
#pragma once

#include "heddle/Support/Error.h"

#include <map>
#include <span>
#include <string>

namespace heddle {

/// The bytes of the members of a ZIP file by name. They must be stored without compression. Checksums
/// are not compared. Errors begin with `path`.
Expected<std::map<std::string, std::span<const std::byte>, std::less<>>>
storedMembers(std::span<const std::byte> bytes, const std::string &path);

} // namespace heddle
