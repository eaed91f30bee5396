//===- OutputFile.h - Files appear whole or not at all ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one way in which Heddle writes a file: beside its place, and renamed when it
// is whole. A reader never sees half a file, a crash or a full disk leaves what was
// there, and nothing of a failed write stays behind.
#pragma once

#include "heddle/Support/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A new file beside its target. It takes the target's place on `commit` and is removed otherwise.
class AtomicFile {
public:
  /// Behind a symbolic link the file is replaced and not the link; the permissions of a file that
  /// was there are kept. Folders, devices and pipes are errors.
  static Expected<AtomicFile> create(const std::string &path);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  /// The descriptor, open for reading and writing.
  int file() const { return descriptor; }
  /// Appends `bytes`.
  Status write(std::string_view bytes);
  /// Data first, then the name: a crash leaves the old file or the new one.
  Status commit();
  /// Without waiting for the disk: a power cut may leave another content, so that this is for files
  /// that carry a check of their own.
  Status commitUnsynced();

private:
  AtomicFile(std::string path, std::string target)
      : path(std::move(path)), target(std::move(target)) {}
  Status open();

  std::string path;      ///< as given, for messages
  std::string target;    ///< behind all links
  std::string temporary; ///< beside the target
  int descriptor = -1;
};

/// Writes a whole file: `bytes` and nothing else.
Status replaceFile(const std::string &path, std::string_view bytes);

/// Whether `writeOutput` could write there: asked before long work, not after it.
Status checkOutput(const std::string &path);
/// An error where `path` is one of `inputs`, under whatever name: writing would destroy it.
Status checkNotAnInput(const std::string &path, const std::vector<std::string> &inputs);
/// Writes `bytes` to `path`, or to standard output where the path is empty or "-".
Status writeOutput(const std::string &path, std::string_view bytes);

} // namespace heddle
