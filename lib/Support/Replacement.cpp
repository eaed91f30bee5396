//===- Replacement.cpp - A file that takes another's place ------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The temporary name holds the process and a number, and is opened exclusively:
// two processes, or two threads, that write the same file do not meet in it.
//
//===----------------------------------------------------------------------===//

#include "heddle/Support/Replacement.h"

#include "SystemError.h"

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle {

static constexpr const char *kExpected = "a path that can be written";

/// Follows links by hand, since what the last one names need not exist.
static std::string behindLinks(const std::string &path) {
  std::error_code failure;
  std::filesystem::path target = path;
  // Circles have been refused before; forty is where the system gives up, too.
  for (int links = 0; links < 40 && std::filesystem::is_symlink(target, failure); ++links)
    target = target.parent_path() / std::filesystem::read_symlink(target, failure);
  return target.string();
}

Expected<Replacement> Replacement::create(const std::string &path) {
  Replacement file(path, behindLinks(path));
  if (Status status = file.open(); !status)
    return status.takeError();
  return file;
}

Replacement::Replacement(Replacement &&other) noexcept
    : path(std::move(other.path)), target(std::move(other.target)),
      temporary(std::move(other.temporary)), descriptor(std::exchange(other.descriptor, -1)) {}

Replacement::~Replacement() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  ::unlink(temporary.c_str());
}

Status Replacement::open() {
  struct stat facts = {};
  bool exists = ::stat(path.c_str(), &facts) == 0;
  if (!exists && errno != ENOENT)
    return systemError(path, kExpected);
  if (exists && !S_ISREG(facts.st_mode))
    return inputError(path + ": expected a file or a new path, found " +
                      (S_ISDIR(facts.st_mode) ? "a directory" : "a device or a pipe"));
  static std::atomic<int> serial = 0;
  temporary = target + "." + std::to_string(::getpid()) + "." + std::to_string(serial++) + ".part";
  // Without a file to follow, the umask decides who may read it. Never more is allowed at first
  // than in the end.
  mode_t mode = exists ? facts.st_mode & 0777 : 0666;
  descriptor = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0 || (exists && ::fchmod(descriptor, mode) != 0))
    return systemError(path, kExpected);
  return {};
}

Status Replacement::write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR)
      return systemError(path, kExpected);
    bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return {};
}

Status Replacement::commit() {
  if (::fsync(descriptor) != 0)
    return systemError(path, kExpected);
  return commitUnsynced();
}

Status Replacement::commitUnsynced() {
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return systemError(path, kExpected);
  ::close(std::exchange(descriptor, -1));
  return {};
}

Status replaceFile(const std::string &path, std::string_view bytes) {
  auto file = Replacement::create(path);
  if (!file)
    return file.takeError();
  if (Status status = file->write(bytes); !status)
    return status;
  return file->commit();
}

} // namespace heddle
