//===- LineReader.cpp - Lines of a data file ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory holds one line and a piece of the file after it.
#include "heddle/Training/LineReader.h"

#include "heddle/Support/SystemError.h"
#include "heddle/Support/Try.h"
#include "heddle/Tokenizers/Utf8.h"

#include <algorithm>

using namespace heddle;

Expected<LineReader> LineReader::open(const std::string &path) {
  HEDDLE_TRY(checkRegularFile(path));
  std::FILE *stream = std::fopen(path.c_str(), "rb");
  if (!stream)
    return systemError(path, "a file that can be read");
  return LineReader(path, stream);
}

std::string LineReader::place() const { return path + ": line " + std::to_string(count); }

/// Reads a piece; false at the end of the file.
Expected<bool> LineReader::fill() {
  constexpr size_t piece = size_t{1} << 16;
  ahead.erase(0, taken);
  taken = 0;
  const size_t before = ahead.size();
  ahead.resize(before + piece);
  const size_t size = std::fread(ahead.data() + before, 1, piece, stream.get());
  const int code = errno;
  ahead.resize(before + size);
  if (size == 0 && std::ferror(stream.get()) != 0)
    return systemError(path, "a file that can be read", code);
  return size > 0;
}

Status LineReader::check(std::string_view line) const {
  if (const size_t at = line.find('\0'); at != std::string_view::npos)
    return inputError(place() + ": expected text, found a NUL byte at offset " +
                      std::to_string(at));
  if (const size_t at = line.find('\r'); at != std::string_view::npos)
    return inputError(place() + ": expected lines that end in LF or CR LF, found CR at offset " +
                      std::to_string(at));
  return tokenizers::checkUtf8(line, place());
}

Expected<bool> LineReader::next(std::string_view &line) {
  size_t searched = taken, end = ahead.find('\n', searched);
  while (end == std::string::npos && !ended && ahead.size() - taken <= mostBytes) {
    searched = ahead.size() - taken;
    ended = !HEDDLE_TRY(fill());
    end = ahead.find('\n', searched);
  }
  if (end == std::string::npos && taken == ahead.size())
    return false;
  ++count;
  end = std::min(end, ahead.size());
  if (end - taken > mostBytes)
    return inputError(place() + ": expected a line of at most " + std::to_string(mostBytes >> 20) +
                      " MiB, found a longer one");
  line = std::string_view(ahead).substr(taken, end - taken);
  taken = std::min(end + 1, ahead.size());
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";
  if (count == 1 && line.starts_with(byteOrderMark))
    line.remove_prefix(byteOrderMark.size());
  HEDDLE_TRY(check(line));
  return true;
}

std::vector<std::string_view> heddle::columnsOf(std::string_view line) {
  std::vector<std::string_view> columns;
  for (size_t tab = line.find('\t'); tab != std::string_view::npos; tab = line.find('\t')) {
    columns.push_back(line.substr(0, tab));
    line.remove_prefix(tab + 1);
  }
  columns.push_back(line);
  return columns;
}
