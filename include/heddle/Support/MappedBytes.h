//===- MappedBytes.h - Memory mappings -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mapping is a file for reading, a new file for writing, or anonymous memory.
// Kernels read whole tiles, so `slack` bytes past the end of files and memory can be
// read as well.
#pragma once

#include "heddle/Support/Error.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace heddle {

/// Owns one mapping. Files for reading and anonymous memory begin at a multiple of 2 MiB and ask
/// for huge pages. A file gets them only if its file system has huge pages and mapForWriting (or a
/// writer with blocks as large) made it.
class MappedBytes {
public:
  static constexpr int64_t slack = 64 * 1024;

  MappedBytes() = default;
  MappedBytes(MappedBytes &&other) noexcept;
  MappedBytes &operator=(MappedBytes &&other) noexcept;
  ~MappedBytes();

  /// Maps a whole file for reading. Directories and files that cannot be opened are errors.
  static Expected<MappedBytes> openFile(const std::string &path);
  /// Zeroed memory of `size` bytes for reading and writing.
  static Expected<MappedBytes> allocate(int64_t size);
  /// Makes memory of `allocate` larger and perhaps moves it: its pages go along, none is copied or
  /// touched. What is new is zeroed. On an error nothing has changed.
  Status grow(int64_t size);
  /// Sets the size of the open file `descriptor` (`path` in errors) and maps it for writing.
  /// Reserves its space, so that a full disk is an error here and not SIGBUS later.
  static Expected<MappedBytes> mapForWriting(int descriptor, int64_t size, const std::string &path);

  std::span<const std::byte> bytes() const { return {start, static_cast<size_t>(length)}; }
  /// Only for mappings of `allocate` and `mapForWriting`.
  std::span<std::byte> writable() { return {start, static_cast<size_t>(length)}; }

private:
  MappedBytes(std::byte *start, int64_t length, int64_t mapped)
      : start(start), length(length), mapped(mapped) {}
  std::byte *start = nullptr;
  int64_t length = 0, mapped = 0;
};

/// Whether a path that a file names stays in the folder of that file: a hostile one must not lead
/// elsewhere.
bool staysInFolder(const std::string &path);

/// What a file that cannot be read is instead, by its first bytes: "a pointer of Git LFS, …"; empty:
/// nobody knows. Downloads of models go wrong in few ways.
std::string_view foreignFile(std::string_view contents);

/// Whether there is something of that name, be it a link to nothing or what cannot be read: reading
/// it says what is wrong. Only a file that is surely not there may be done without.
bool isThere(const std::filesystem::path &path);
/// Reads a regular file; error beyond `most` bytes.
Expected<std::string> readTextFile(const std::string &path, int64_t most);

} // namespace heddle
