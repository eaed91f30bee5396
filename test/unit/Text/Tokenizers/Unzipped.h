//===- Unzipped.h - Files of test/data/tokenizers -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <string>
#include <zlib.h>

namespace heddle::test {

/// The text of a file, decompressed if it is gzipped.
inline std::string unzipped(const std::filesystem::path &path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  char buffer[1 << 16];
  for (int size; file && (size = gzread(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(size));
  if (file)
    gzclose(file);
  return text;
}

} // namespace heddle::test
