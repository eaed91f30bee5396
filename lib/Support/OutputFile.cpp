//===- OutputFile.cpp - Atomic output files -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files are replaced as a whole; devices, pipes and standard output are written in
// place. The temporary name holds the process and a serial number and is opened with
// O_EXCL, so that two writers of one file never share a temporary file.

#include "heddle/Support/OutputFile.h"

#include "heddle/Support/SystemError.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace heddle {

static constexpr const char *kExpected = "a path that can be written";

/// Follows symbolic links by hand, since the last one may name a file that does not exist yet.
static std::string behindLinks(const std::string &path) {
  std::error_code failure;
  std::filesystem::path target = path;
  // Linux too follows at most 40 links; a circle is an error of stat() in open().
  for (int links = 0; links < 40 && std::filesystem::is_symlink(target, failure); ++links)
    target = target.parent_path() / std::filesystem::read_symlink(target, failure);
  return target.string();
}

Expected<AtomicFile> AtomicFile::create(const std::string &path) {
  AtomicFile file(path, behindLinks(path));
  HEDDLE_TRY(file.open());
  return file;
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path(std::move(other.path)), target(std::move(other.target)),
      temporary(std::move(other.temporary)), descriptor(std::exchange(other.descriptor, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  ::unlink(temporary.c_str());
}

Status AtomicFile::open() {
  struct stat facts = {};
  bool exists = ::stat(path.c_str(), &facts) == 0;
  if (!exists && errno != ENOENT)
    return systemError(path, kExpected);
  if (exists && !S_ISREG(facts.st_mode))
    return inputError(path + ": expected a file or a new path, found " +
                      (S_ISDIR(facts.st_mode) ? "a directory" : "a device or a pipe"));
  static std::atomic<int> serial = 0;
  temporary = target + "." + std::to_string(::getpid()) + "." + std::to_string(serial++) + ".part";
  // The old file's permissions hold from the start, so that the temporary file is never more
  // accessible; without an old file the umask decides.
  mode_t mode = exists ? facts.st_mode & 0777 : 0666;
  descriptor = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0 || (exists && ::fchmod(descriptor, mode) != 0))
    return systemError(path, kExpected);
  return {};
}

Status AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR)
      return systemError(path, kExpected);
    bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return {};
}

Status AtomicFile::commit() {
  if (::fsync(descriptor) != 0)
    return systemError(path, kExpected);
  return commitUnsynced();
}

Status AtomicFile::commitUnsynced() {
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return systemError(path, kExpected);
  ::close(std::exchange(descriptor, -1));
  return {};
}

/// Begins writing and does not wait for its end, but waits where the disk's queue is full, so it has a
/// thread of its own. A page that changes afterwards is written once more.
static void beginWriting([[maybe_unused]] int descriptor) {
#if defined(__linux__)
  ::sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE); // a hint: its errors are fsync's too
#endif
}

/// Without a thread to be had, the disk begins when all is written.
EarlyWriting::EarlyWriting(int descriptor) {
  try {
    thread = std::jthread([descriptor](const std::stop_token &stop) {
      constexpr std::chrono::milliseconds pause{50};
      std::mutex mutex;
      std::condition_variable_any ended;
      std::unique_lock lock(mutex);
      while (!ended.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); }))
        beginWriting(descriptor);
    });
  } catch (const std::system_error &) {
  }
}

Status replaceFile(const std::string &path, std::string_view bytes) {
  auto file = HEDDLE_TRY(AtomicFile::create(path));
  HEDDLE_TRY(file.write(bytes));
  return file.commit();
}

//===- Output of the tools -----------------------------------------------===//

static bool isStandardOutput(const std::string &path) { return path.empty() || path == "-"; }

/// Whether `path` is a device or a pipe, which a rename would replace by a file.
static bool isWrittenInPlace(const std::string &path) {
  std::error_code ignored;
  std::filesystem::file_status facts = std::filesystem::status(path, ignored);
  return std::filesystem::exists(facts) && !std::filesystem::is_regular_file(facts) &&
         !std::filesystem::is_directory(facts);
}

/// Writes to the device or pipe at `path`.
static Status writeInPlace(const std::string &path, std::string_view bytes) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return systemError(path, kExpected);
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  int code = errno;
  if (std::fclose(file) == 0 && written)
    return {};
  return systemError(path, kExpected, written ? errno : code);
}

static Status writeStandardOutput(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
      std::fflush(stdout) == 0)
    return {};
  return systemError("standard output", kExpected);
}

Status checkOutput(const std::string &path) {
  if (isStandardOutput(path) || isWrittenInPlace(path))
    return {};
  HEDDLE_TRY(AtomicFile::create(path)); // removed again by its destructor
  return {};
}

Status checkNotAnInput(const std::string &path, const std::vector<std::string> &inputs) {
  std::error_code ignored;
  if (isStandardOutput(path) || isWrittenInPlace(path))
    return {};
  for (const std::string &input : inputs)
    if (path == input || std::filesystem::equivalent(path, input, ignored))
      return inputError(path + ": expected a file to write, found one that is read" +
                        (path == input ? "" : ", " + input));
  return {};
}

Status writeOutput(const std::string &path, std::string_view bytes) {
  if (isStandardOutput(path))
    return writeStandardOutput(bytes);
  if (isWrittenInPlace(path))
    return writeInPlace(path, bytes);
  return replaceFile(path, bytes);
}

} // namespace heddle
