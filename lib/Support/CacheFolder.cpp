//===- CacheFolder.cpp - The user's cache folder ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Access to the cache folder. A file's time is the time of its last use, for LRU eviction. All
// errors are ignored: another process may delete a file at any time.

#include "heddle/Support/CacheFolder.h"

#include "heddle/Support/OutputFile.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace heddle {

namespace {

/// Size limit for reading a file; far larger than any file that Heddle writes.
constexpr off_t kMaxBytes = 1 << 30;

} // namespace

std::vector<CachedFile> cachedFiles(std::string_view prefix) {
  std::vector<CachedFile> found;
  std::error_code ended;
  for (fs::directory_iterator at(cacheDirectory(), ended), end; !ended && at != end;
       at.increment(ended)) {
    std::error_code failure;
    CachedFile file{at->path(), at->last_write_time(failure), 0};
    if (!failure && !at->is_directory(failure))
      file.bytes = at->file_size(failure);
    if (!failure && file.path.filename().string().starts_with(prefix))
      found.push_back(std::move(file));
  }
  std::ranges::sort(found, std::ranges::greater(), &CachedFile::used);
  return found;
}

Expected<uint64_t> cacheLimit(const char *variable, uint64_t defaultMegabytes) {
  const char *text = std::getenv(variable);
  if (!text || !*text)
    return defaultMegabytes << 20;
  uint64_t megabytes = 0;
  const char *end = text + std::strlen(text);
  auto [stop, failure] = std::from_chars(text, end, megabytes);
  if (failure != std::errc() || stop != end || megabytes > 1 << 20)
    return usageError(std::string(variable) + ": expected 0 to 1048576 MiB, found " +
                      quotedText(text));
  return megabytes << 20;
}

/// Path of the folder according to the environment variables.
static std::string namedDirectory() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/')
    return std::string(cache) + "/heddle";
  const char *home = std::getenv("HOME");
  return home && home[0] == '/' ? std::string(home) + "/.cache/heddle" : "";
}

std::string whyNoCacheDirectory() {
  const std::string named = namedDirectory();
  if (named.empty())
    return "expected XDG_CACHE_HOME or HOME to be an absolute path, found neither";
  struct stat facts = {};
  if (::stat(named.c_str(), &facts) != 0)
    return ""; // it is made when something is stored
  if (facts.st_uid != ::geteuid())
    return printable(named) + ": expected a cache folder of this user, found one of user " +
           std::to_string(facts.st_uid);
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return printable(named) +
           ": expected a cache folder that its owner alone may write to, found one "
           "that others may";
  return "";
}

std::string cacheDirectory() { return whyNoCacheDirectory().empty() ? namedDirectory() : ""; }

std::optional<std::string> readFromCache(const std::string &path) {
  // The file is read, not mapped: if another process truncates a mapped file, access raises SIGBUS.
  // O_NONBLOCK: open must not block if the path is a pipe.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts = {};
  std::string bytes;
  if (file >= 0 && ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
      facts.st_size <= kMaxBytes)
    bytes.resize(static_cast<size_t>(facts.st_size));
  bool whole = !bytes.empty() && ::read(file, bytes.data(), bytes.size()) == facts.st_size;
  if (file >= 0)
    ::close(file);
  return whole ? std::optional(std::move(bytes)) : std::nullopt;
}

std::error_code makeCacheFolder(const std::string &folder) {
  constexpr mode_t own = 0700;
  fs::path made;
  for (const fs::path &part : fs::path(folder)) {
    made /= part;
    std::error_code failure;
    if (::mkdir(made.c_str(), own) == 0 || errno == EEXIST)
      continue;
    const int code = errno; // EROFS, even if the folder exists
    if (!fs::is_directory(made, failure))
      return {code, std::generic_category()};
  }
  std::error_code failure;
  if (!fs::is_directory(made, failure))
    return std::make_error_code(std::errc::not_a_directory);
  (void)::chmod(folder.c_str(), own);
  return {};
}

void clearPlace(const std::string &path) {
  std::error_code ignored;
  if (fs::is_directory(fs::symlink_status(path, ignored)))
    fs::remove_all(path, ignored);
}

void keepInCache(const std::string &path, std::string_view bytes) {
  (void)makeCacheFolder(fs::path(path).parent_path().string());
  clearPlace(path);
  auto file = AtomicFile::create(path, FileAccess::Owner);
  if (file && file->write(bytes))
    (void)file->commitUnsynced();
}

void touchInCache(const std::string &path) {
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
}

void limitCache(std::string_view prefix, size_t files, uintmax_t bytes) {
  size_t count = 0;
  uintmax_t sum = 0;
  for (const CachedFile &file : cachedFiles(prefix)) {
    std::error_code ignored;
    sum += file.bytes;
    if (++count > files || sum > bytes)
      fs::remove_all(file.path, ignored);
  }
}

} // namespace heddle
