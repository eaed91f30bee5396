//===- SystemError.h - Errors from errno -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of the operating system as errors of Heddle.
#pragma once

#include "heddle/Support/Error.h"

#include <cerrno>
#include <system_error>

namespace heddle {

/// Error "m.heddle: expected a file that can be read, found: Permission denied", of the kind System.
/// A file that is not there is an input error.
inline Error systemError(const std::string &path, const std::string &expected, int code = errno) {
  return {code == ENOENT || code == ENOTDIR ? ErrorKind::Input : ErrorKind::System,
          path + ": expected " + expected + ", found: " + std::generic_category().message(code)};
}

} // namespace heddle
