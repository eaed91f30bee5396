//===- MappedBytes.h - Page-aligned bytes ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes that begin on a page boundary: a file mapped for reading, a new file
// mapped for writing, or anonymous memory. Kernels read whole tiles, so that
// `slack` bytes past the end of readable mappings can be read as well.
#pragma once

#include "heddle/Support/Error.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle {

/// Owns one mapping; movable, not copyable. Files and memory begin at a multiple of 2 MiB, and the
/// system is asked to keep them in pages of that size: of a file it does where it was written by
/// mapForWriting (or in pieces as large) and its file system has such pages.
class MappedBytes {
public:
  static constexpr int64_t slack = 64 * 1024;

  MappedBytes() = default;
  MappedBytes(MappedBytes &&other) noexcept;
  MappedBytes &operator=(MappedBytes &&other) noexcept;
  ~MappedBytes();

  /// Maps a whole file for reading. Directories and files that cannot be opened are errors.
  static Expected<MappedBytes> openFile(const std::string &path);
  /// Zeroed memory that can be written.
  static Expected<MappedBytes> allocate(int64_t size);
  /// Gives the open file `descriptor` (named `path` in errors) this size, with its space reserved,
  /// and maps it for writing: a full disk is an error here, not a signal later.
  static Expected<MappedBytes> mapForWriting(int descriptor, int64_t size, const std::string &path);

  std::span<const std::byte> bytes() const { return {start, static_cast<size_t>(length)}; }
  /// Only of memory that `allocate` or `mapForWriting` made.
  std::span<std::byte> writable() { return {start, static_cast<size_t>(length)}; }

private:
  MappedBytes(std::byte *start, int64_t length, int64_t mapped)
      : start(start), length(length), mapped(mapped) {}
  std::byte *start = nullptr;
  int64_t length = 0, mapped = 0;
};

/// The bytes of a regular file of at most `most` bytes.
Expected<std::string> readTextFile(const std::string &path, int64_t most);

} // namespace heddle
