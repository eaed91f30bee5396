//===- OutputFile.cpp - Files appear whole or not at all ------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writing beside the place and renaming: a reader never sees half a file, and a
// failed write leaves what was there.
//
//===----------------------------------------------------------------------===//

#include "heddle/Support/OutputFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace heddle {

namespace {

Error cannotWrite(const std::string &path, int code) {
  return inputError(path + ": expected a path that can be written, found: " + std::strerror(code));
}

bool writeAll(std::FILE *file, std::string_view bytes) {
  return std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fflush(file) == 0;
}

} // namespace

static bool isStandardOutput(const std::string &path) { return path.empty() || path == "-"; }

/// Devices and pipes cannot be renamed over.
static bool isWrittenInPlace(const std::string &path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
}

static std::string nameBeside(const std::string &path) {
  return path + ".part" + std::to_string(getpid());
}

Status checkOutput(const std::string &path) {
  std::error_code ignored;
  if (!isStandardOutput(path) && std::filesystem::is_directory(path, ignored))
    return cannotWrite(path, EISDIR);
  if (isStandardOutput(path) || isWrittenInPlace(path))
    return {};
  std::string beside = nameBeside(path);
  std::FILE *file = std::fopen(beside.c_str(), "wb");
  if (!file)
    return cannotWrite(path, errno);
  std::fclose(file);
  std::remove(beside.c_str());
  return {};
}

Status writeOutput(const std::string &path, std::string_view bytes) {
  if (isStandardOutput(path))
    return writeAll(stdout, bytes) ? Status() : Status(cannotWrite("standard output", errno));
  bool inPlace = isWrittenInPlace(path);
  std::string beside = inPlace ? path : nameBeside(path);
  std::FILE *file = std::fopen(beside.c_str(), "wb");
  if (!file)
    return cannotWrite(path, errno);
  bool written = writeAll(file, bytes);
  int code = errno;
  if (std::fclose(file) != 0 && written) {
    written = false;
    code = errno;
  }
  if (written && !inPlace && std::rename(beside.c_str(), path.c_str()) != 0) {
    written = false;
    code = errno;
  }
  if (written)
    return {};
  if (!inPlace)
    std::remove(beside.c_str());
  return cannotWrite(path, code);
}

} // namespace heddle
