//===- LineReader.h - Lines of a data file ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a file line by line. Lines end in LF or CR LF, optional after the last one. A line that is
// too long, that is not UTF-8, or that holds a NUL or another CR is an error with its number.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

class LineReader {
public:
  /// Maximum size of a line, as in text commands.
  static constexpr size_t mostBytes = size_t{16} << 20;

  static Expected<LineReader> open(const std::string &path);

  /// Reads the next line; false at the end. The line is valid until the next call.
  Expected<bool> next(std::string_view &line);
  /// "FILE: line N" of the last line.
  std::string place() const;
  int64_t lines() const { return count; }
  const std::string &file() const { return path; }

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  LineReader(std::string path, std::FILE *stream) : path(std::move(path)), stream(stream) {}
  Expected<bool> fill();
  Status check(std::string_view line) const;

  std::string path;
  std::unique_ptr<std::FILE, Close> stream;
  std::string ahead; ///< bytes read; the first `taken` ones were returned
  size_t taken = 0;
  bool ended = false;
  int64_t count = 0;
};

/// Columns of a line between tabs.
std::vector<std::string_view> columnsOf(std::string_view line);

} // namespace heddle
