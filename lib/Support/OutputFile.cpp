//===- OutputFile.cpp - Atomic output files -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic replacement of files; devices, pipes and standard output are written in place. A file has
// no name until it is complete (O_TMPFILE), so a killed process leaves none. On file systems
// without unnamed files it gets a unique temporary name next to the target (O_EXCL), which signal
// handlers remove.

#include "heddle/Support/OutputFile.h"

#include "heddle/Support/SystemError.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <mutex>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace heddle {

static constexpr const char *kExpected = "a path that can be written";

/// Follows symbolic links manually, since the last one may name a file that does not exist yet.
static std::string behindLinks(const std::string &path) {
  std::error_code failure;
  std::filesystem::path target = path;
  // Linux also follows at most 40 links; stat() in open() reports a cycle.
  for (int links = 0; links < 40 && std::filesystem::is_symlink(target, failure); ++links)
    target = target.parent_path() / std::filesystem::read_symlink(target, failure);
  return target.string();
}

Expected<AtomicFile> AtomicFile::create(const std::string &path, FileAccess access) {
  AtomicFile file(path, behindLinks(path));
  HEDDLE_TRY(file.open(access));
  return file;
}

//===- Names of unfinished files -----------------------------------------===//

/// Temporary names, for signal handlers, which clear an entry when they remove its file. Only the
/// code that clears an entry may free it; a handler does not.
static std::array<std::atomic<char *>, 64> unfinished;
/// Guards changes of `unfinished`, except in handlers.
static std::mutex changesUnfinished;

static void listUnfinished(const std::string &name) {
  std::lock_guard lock(changesUnfinished);
  for (std::atomic<char *> &entry : unfinished)
    if (!entry) {
      entry = ::strdup(name.c_str());
      return;
    }
}

static void unlistUnfinished(const std::string &name) {
  std::lock_guard lock(changesUnfinished);
  for (std::atomic<char *> &entry : unfinished) {
    char *listed = entry;
    if (listed && name == listed && entry.compare_exchange_strong(listed, nullptr))
      return std::free(listed);
  }
}

void removeUnfinishedFiles() noexcept {
  for (std::atomic<char *> &entry : unfinished)
    if (const char *name = entry.exchange(nullptr))
      ::unlink(name);
}

/// A probably unique name next to `target`, within the limit for the length of names.
static std::string temporaryName(const std::filesystem::path &target) {
  constexpr size_t longest = 200;
  static std::atomic<int> serial = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::string file = target.filename().string().substr(0, longest) + "." +
                           std::to_string(now) + "." + std::to_string(serial++) + ".part";
  return (target.parent_path() / file).string();
}

/// Calls make(name) with temporary names until one is new. Returns the listed name, or an empty one
/// with errno.
static std::string makeTemporary(const std::string &target,
                                 const std::function<int(const char *)> &make) {
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    std::string name = temporaryName(target);
    listUnfinished(name); // before it exists: a signal may arrive in between
    if (make(name.c_str()) >= 0)
      return name;
    const int code = errno;
    unlistUnfinished(name);
    errno = code;
    if (code != EEXIST)
      break;
  }
  return "";
}

//===- FileSizeSignalBlock -----------------------------------------------===//

static sigset_t fileSizeSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  return signals;
}

FileSizeSignalBlock::FileSizeSignalBlock() {
  const sigset_t signals = fileSizeSignal();
  pthread_sigmask(SIG_BLOCK, &signals, &before);
}

FileSizeSignalBlock::~FileSizeSignalBlock() {
  if (sigismember(&before, SIGXFSZ) == 1)
    return;
  const int code = errno;
  const sigset_t signals = fileSizeSignal();
  constexpr timespec noTime = {};
  while (sigtimedwait(&signals, nullptr, &noTime) > 0) // removes the pending signal
    ;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = code;
}

//===- AtomicFile --------------------------------------------------------===//

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path(std::move(other.path)), target(std::move(other.target)),
      temporary(std::exchange(other.temporary, {})),
      descriptor(std::exchange(other.descriptor, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (temporary.empty())
    return;
  ::unlink(temporary.c_str());
  unlistUnfinished(temporary);
}

/// Path with which linkat names the file of a descriptor.
static std::string linkOf(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// Opens an unnamed file that can be linked later; -1 if this is not supported.
static int openNameless([[maybe_unused]] const std::string &target, [[maybe_unused]] mode_t mode) {
#if defined(O_TMPFILE)
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  const int file =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
  if (file < 0 || ::access(linkOf(file).c_str(), F_OK) == 0)
    return file;
  ::close(file);
#endif
  return -1;
}

Status AtomicFile::open(FileAccess access) {
  struct stat facts = {};
  bool exists = ::stat(path.c_str(), &facts) == 0;
  if (!exists && errno != ENOENT)
    return systemError(path, kExpected);
  if (exists && !S_ISREG(facts.st_mode))
    return inputError(path + ": expected a file or a new path, found " +
                      (S_ISDIR(facts.st_mode) ? "a directory" : "a device or a pipe"));
  // The old file's permissions apply from the start, so that the temporary file is never more
  // accessible. Without an old file the umask decides.
  const mode_t mode = exists ? facts.st_mode & 0777 : access == FileAccess::Owner ? 0600 : 0666;
  descriptor = openNameless(target, mode);
  if (descriptor < 0) {
    temporary = makeTemporary(target, [&](const char *name) {
      descriptor = ::open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      return descriptor;
    });
  }
  if (descriptor < 0 || (exists && ::fchmod(descriptor, mode) != 0))
    return systemError(path, kExpected);
  return {};
}

Status AtomicFile::write(std::string_view bytes) {
  const FileSizeSignalBlock block;
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

/// Creates the file `name` with the content of `from`, on the disk. Returns its descriptor, or -1
/// with errno.
static int copyTo(const char *name, int from) {
  const FileSizeSignalBlock block;
  struct stat facts = {};
  int to = -1;
  if (::fstat(from, &facts) == 0)
    to = ::open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, facts.st_mode & 0777);
  if (to < 0)
    return -1;
  std::array<char, 1 << 16> bytes;
  off_t done = 0;
  ssize_t size = 0;
  do {
    size = ::pread(from, bytes.data(), bytes.size(), done);
    if (size > 0)
      size = ::write(to, bytes.data(), static_cast<size_t>(size));
    done += std::max<ssize_t>(size, 0);
  } while (size > 0 || (size < 0 && errno == EINTR));
  if (size == 0 && ::fsync(to) == 0)
    return to;
  const int code = errno;
  ::close(to);
  ::unlink(name);
  errno = code;
  return -1;
}

/// A link cannot replace a file: if one exists, the new file gets a temporary name first.
Status AtomicFile::commitUnsynced() {
  if (temporary.empty()) {
    auto link = [file = linkOf(descriptor)](const char *name) {
      return ::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW);
    };
    if (link(target.c_str()) == 0) {
      ::close(std::exchange(descriptor, -1));
      return {};
    }
    if (errno == EEXIST)
      temporary = makeTemporary(target, link);
    else // a system that supports unnamed files but not linking them
      temporary = makeTemporary(target, [this](const char *name) {
        const int copy = copyTo(name, descriptor);
        if (copy >= 0)
          ::close(std::exchange(descriptor, copy));
        return copy;
      });
    if (temporary.empty())
      return systemError(path, kExpected);
  }
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return systemError(path, kExpected);
  unlistUnfinished(std::exchange(temporary, {}));
  ::close(std::exchange(descriptor, -1));
  return {};
}

/// Starts writing without waiting for its end. It blocks if the disk's queue is full, so it needs
/// its own thread. A page that changes afterwards is written again.
static void beginWriting([[maybe_unused]] int descriptor) {
#if defined(__linux__)
  ::sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE); // a hint: fsync reports its errors
                                                              // too
#endif
}

/// If no thread can be started, writing begins when the file is complete.
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

/// Whether `path` is a device or a pipe, which renaming would replace by a file.
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
