//===- Replacement.h - A file that takes another's place -------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one way in which Heddle writes a file: beside its place, and renamed when it
// is whole. A reader never sees half a file, a crash or a full disk leaves what was
// there, and nothing of a failed write stays behind.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Support/Error.h"

#include <string>
#include <string_view>

namespace heddle {

/// A new file beside its target. It takes the target's place on `commit` and is removed otherwise.
class Replacement {
public:
  /// Behind a symbolic link the file is replaced and not the link; the permissions of a file that
  /// was there are kept. Folders, devices and pipes are errors.
  static Expected<Replacement> create(const std::string &path);
  Replacement(Replacement &&other) noexcept;
  Replacement &operator=(Replacement &&) = delete;
  ~Replacement();

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
  Replacement(std::string path, std::string target)
      : path(std::move(path)), target(std::move(target)) {}
  Status open();

  std::string path;      ///< as given, for messages
  std::string target;    ///< behind all links
  std::string temporary; ///< beside the target
  int descriptor = -1;
};

/// Writes a whole file: `bytes` and nothing else.
Status replaceFile(const std::string &path, std::string_view bytes);

} // namespace heddle
