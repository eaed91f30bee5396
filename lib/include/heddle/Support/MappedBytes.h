//===- MappedBytes.h - Memory mappings -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory mappings: a file for reading, a new file for writing, or anonymous memory. Kernels read
// whole tiles, so `slack` bytes past the end of files and memory are readable.
#pragma once

#include "heddle/Support/Error.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace heddle {

/// Owns one mapping. Files for reading and anonymous memory begin at a multiple of 2 MiB and
/// request huge pages. A file gets huge pages only if its file system supports them and the file
/// was made by mapForWriting (or a writer with equally large blocks).
class MappedBytes {
public:
  static constexpr int64_t slack = 64 * 1024;

  MappedBytes() = default;
  MappedBytes(MappedBytes &&other) noexcept;
  MappedBytes &operator=(MappedBytes &&other) noexcept;
  ~MappedBytes();

  /// Maps a whole file for reading. Directories and unreadable files are errors.
  static Expected<MappedBytes> openFile(const std::string &path);
  /// Zeroed memory of `size` bytes for reading and writing.
  static Expected<MappedBytes> allocate(int64_t size);
  /// Enlarges memory from `allocate`, which may move. Pages are remapped, without copying or
  /// touching them. New memory is zeroed. After an error nothing has changed.
  Status grow(int64_t size);
  /// Sets the size of the open file `descriptor` (`path` in errors) and maps it for writing.
  /// Reserves its space, so that a full disk is an error here and not SIGBUS later.
  static Expected<MappedBytes> mapForWriting(int descriptor, int64_t size, const std::string &path);

  std::span<const std::byte> bytes() const { return {start, static_cast<size_t>(length)}; }
  /// Requires a mapping from `allocate` or `mapForWriting`.
  std::span<std::byte> writable() { return {start, static_cast<size_t>(length)}; }

private:
  MappedBytes(std::byte *start, int64_t length, int64_t mapped)
      : start(start), length(length), mapped(mapped) {}
  std::byte *start = nullptr;
  int64_t length = 0, mapped = 0;
};

/// Whether a path named by a file stays inside the file's folder: a hostile path must not leave it.
bool staysInFolder(const std::string &path);

/// Identifies a file of a wrong kind by its first bytes: "a pointer of Git LFS, …"; empty if
/// unknown. Downloads of models fail in few ways.
std::string_view foreignFile(std::string_view contents);

/// Whether a path exists, even as a dangling link or an unreadable file: reading it then reports
/// the problem. A file may be treated as absent only if it surely does not exist.
bool isThere(const std::filesystem::path &path);
/// Reads a regular file. Error if it has more than `most` bytes.
Expected<std::string> readTextFile(const std::string &path, int64_t most);

} // namespace heddle
