//===- SystemError.h - Errors from errno -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of the operating system as errors of Heddle, and checks for regular files.
#pragma once

#include "heddle/Support/Error.h"

#include <cerrno>
#include <sys/stat.h>
#include <system_error>

namespace heddle {

/// System error "m.heddle: expected a file that can be read, found: Permission denied". A missing
/// file is an input error.
inline Error systemError(const std::string &path, const std::string &expected, int code = errno) {
  return {code == ENOENT || code == ENOTDIR ? ErrorKind::Input : ErrorKind::System,
          path + ": expected " + expected + ", found: " + std::generic_category().message(code)};
}

/// Error for a directory, a device or a pipe, on which `open` may block. Success for a regular
/// file, and for a missing one.
inline Status checkRegularFile(const std::string &path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0 || S_ISREG(facts.st_mode))
    return {};
  return inputError(path + ": expected a file, found " +
                    (S_ISDIR(facts.st_mode) ? "a directory" : "a device or a pipe"));
}

} // namespace heddle
