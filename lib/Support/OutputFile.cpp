//===- OutputFile.cpp - Files appear whole or not at all ------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files are replaced as a whole; a device, a pipe or standard output gets the
// bytes as they are.
//
//===----------------------------------------------------------------------===//

#include "heddle/Support/OutputFile.h"

#include "SystemError.h"

#include "heddle/Support/Replacement.h"

#include <cstdio>
#include <filesystem>

namespace heddle {

static bool isStandardOutput(const std::string &path) { return path.empty() || path == "-"; }

/// Devices and pipes cannot be renamed over.
static bool isWrittenInPlace(const std::string &path) {
  std::error_code ignored;
  std::filesystem::file_status facts = std::filesystem::status(path, ignored);
  return std::filesystem::exists(facts) && !std::filesystem::is_regular_file(facts) &&
         !std::filesystem::is_directory(facts);
}

/// A device or a pipe at `path` is opened and written as it is.
static Status writeInPlace(const std::string &path, std::string_view bytes) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return systemError(path, "a path that can be written");
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  int code = errno;
  if (std::fclose(file) == 0 && written)
    return {};
  return systemError(path, "a path that can be written", written ? errno : code);
}

static Status writeStandardOutput(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
      std::fflush(stdout) == 0)
    return {};
  return systemError("standard output", "a path that can be written");
}

Status checkOutput(const std::string &path) {
  if (isStandardOutput(path) || isWrittenInPlace(path))
    return {};
  auto file = Replacement::create(path); // and gone again
  return file ? Status() : Status(file.takeError());
}

Status checkNotAnInput(const std::string &path, const std::vector<std::string> &inputs) {
  std::error_code ignored;
  if (isStandardOutput(path) || isWrittenInPlace(path))
    return {};
  for (const std::string &input : inputs)
    if (path == input || std::filesystem::equivalent(path, input, ignored))
      return inputError(path + ": expected a file to write, found one that is read" +
                        (path == input ? "" : ", " + input));
  return {};
}

Status writeOutput(const std::string &path, std::string_view bytes) {
  if (isStandardOutput(path))
    return writeStandardOutput(bytes);
  if (isWrittenInPlace(path))
    return writeInPlace(path, bytes);
  return replaceFile(path, bytes);
}

} // namespace heddle
