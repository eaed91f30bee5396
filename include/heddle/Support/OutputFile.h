//===- OutputFile.h - Atomic output files ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heddle gives every file its name when it is complete. A reader never sees half a
// file, a crash or a full disk leaves the old file, and a failed write or a killed
// process leaves nothing.
#pragma once

#include "heddle/Support/Error.h"

#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace heddle {

/// Who may read a new file: those that the umask says, or its owner alone.
enum class FileAccess { Umask, Owner };

/// A file that replaces its target on `commit` and is gone otherwise. Until then it has no name, or a
/// temporary one next to the target where the file system has no files without a name.
class AtomicFile {
public:
  /// Follows symbolic links, so that the file behind them is replaced. Keeps the permissions of an
  /// existing file, `access` is for a new one. Folders, devices and pipes are errors.
  static Expected<AtomicFile> create(const std::string &path,
                                     FileAccess access = FileAccess::Umask);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  /// File descriptor, open for reading and writing.
  int file() const { return descriptor; }
  Status write(std::string_view bytes);
  /// Calls fsync and renames: a crash leaves the old file or the new one.
  Status commit();
  /// Renames without fsync: a power cut may damage the content. For files that carry a checksum.
  Status commitUnsynced();

private:
  AtomicFile(std::string path, std::string target)
      : path(std::move(path)), target(std::move(target)) {}
  Status open(FileAccess access);

  std::string path;      ///< as given, for messages
  std::string target;    ///< path behind all symbolic links
  std::string temporary; ///< next to the target; empty: the file has no name
  int descriptor = -1;
};

/// Deletes files with temporary names. For a signal handler that ends the process: the files are not
/// usable afterwards.
void removeUnfinishedFiles() noexcept;

/// While it lives, the system is asked again and again to begin writing what is in the pages of a
/// file: the disk works while the file is made, and fsync finds little left.
class EarlyWriting {
public:
  explicit EarlyWriting(int descriptor);

private:
  std::jthread thread;
};

/// Replaces a file by `bytes`, atomically.
Status replaceFile(const std::string &path, std::string_view bytes);

/// Error if `writeOutput` could not write to `path`; to be called before long work.
Status checkOutput(const std::string &path);
/// Error if `path` is one of `inputs`, also through links: writing would destroy it.
Status checkNotAnInput(const std::string &path, const std::vector<std::string> &inputs);
/// Writes `bytes` to `path`, or to standard output if the path is empty or "-".
Status writeOutput(const std::string &path, std::string_view bytes);

} // namespace heddle
