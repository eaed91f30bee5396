//===- OutputFile.h - Atomic output files ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic output files. A file gets its name when it is complete, so that a reader never sees a
// partial file. A crash or a full disk leaves the old file; a failed write or a killed process
// leaves nothing.
#pragma once

#include "heddle/Support/Error.h"

#include <csignal>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace heddle {

/// Blocks SIGXFSZ in this thread during its life, so that a write beyond the limit of a file's size
/// is an error (EFBIG) and does not end the process. A program that embeds Heddle keeps its handler.
class FileSizeSignalBlock {
public:
  FileSizeSignalBlock();
  ~FileSizeSignalBlock();
  FileSizeSignalBlock(const FileSizeSignalBlock &) = delete;
  FileSizeSignalBlock &operator=(const FileSizeSignalBlock &) = delete;

private:
  sigset_t before = {};
};

/// Access to a new file: determined by the umask, or only for its owner.
enum class FileAccess { Umask, Owner };

/// A file that replaces its target on `commit` and is deleted otherwise. Before `commit` it has no
/// name, or a temporary one next to the target if the file system does not support unnamed files.
class AtomicFile {
public:
  /// Creates a file. Follows symbolic links, so that their target is replaced. Keeps the
  /// permissions of an existing file; `access` applies to a new one. Folders, devices and pipes are
  /// errors.
  static Expected<AtomicFile> create(const std::string &path,
                                     FileAccess access = FileAccess::Umask);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  /// File descriptor, open for reading and writing.
  int file() const { return descriptor; }
  Status write(std::string_view bytes);
  /// Calls fsync and renames the file: after a crash, either the old or the new file exists.
  Status commit();
  /// Renames without fsync: a power failure may damage the content. For files with a checksum.
  Status commitUnsynced();

private:
  AtomicFile(std::string path, std::string target)
      : path(std::move(path)), target(std::move(target)) {}
  Status open(FileAccess access);

  std::string path;      ///< as given, for messages
  std::string target;    ///< path after all symbolic links
  std::string temporary; ///< next to the target; empty: the file has no name
  int descriptor = -1;
};

/// Deletes files with temporary names. For a signal handler that ends the process: the files are
/// unusable afterwards.
void removeUnfinishedFiles() noexcept;

/// During its life, repeatedly asks the system to start writing the pages of a file. The disk works
/// while the file is made, and fsync has little left to write.
class EarlyWriting {
public:
  explicit EarlyWriting(int descriptor);

private:
  std::jthread thread;
};

/// Replaces a file by `bytes` atomically.
Status replaceFile(const std::string &path, std::string_view bytes);

/// Error if `writeOutput` could not write to `path`. Call it before long work.
Status checkOutput(const std::string &path);
/// Error if `path` is one of `inputs`, also through links, since writing would destroy it.
Status checkNotAnInput(const std::string &path, const std::vector<std::string> &inputs);
/// Writes `bytes` to `path`, or to standard output if the path is empty or "-".
Status writeOutput(const std::string &path, std::string_view bytes);

} // namespace heddle
