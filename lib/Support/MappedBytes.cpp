//===- MappedBytes.cpp - Memory mappings -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mapping of files and memory. For the slack past the end of a file, anonymous pages are reserved
// first and the file is mapped over their beginning (MAP_FIXED).

#include "heddle/Support/MappedBytes.h"

#include "heddle/Support/Descriptor.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/SystemError.h"
#include "heddle/Support/Try.h"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle {

namespace {

int64_t wholePages(int64_t size) {
  int64_t page = ::sysconf(_SC_PAGESIZE);
  return (size + page - 1) / page * page;
}

constexpr int64_t hugePage = 2 << 20;

/// Maps private pages at a multiple of 2 MiB, as huge pages require.
void *reserve(int64_t size, int protection) {
  void *whole = ::mmap(nullptr, size + hugePage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED)
    return whole;
  auto address = reinterpret_cast<uintptr_t>(whole);
  int64_t before = (hugePage - address % hugePage) % hugePage;
  std::byte *start = static_cast<std::byte *>(whole) + before;
  if (before > 0)
    ::munmap(whole, before);
  ::munmap(start + size, hugePage - before);
  return start;
}

/// Requests huge pages: weights are streamed repeatedly, and fewer TLB entries then cover them.
/// Only a hint; for a file it depends on the file system.
void adviseHugePages(void *start, int64_t size) { ::madvise(start, size, MADV_HUGEPAGE); }

} // namespace

MappedBytes::MappedBytes(MappedBytes &&other) noexcept
    : start(std::exchange(other.start, nullptr)), length(std::exchange(other.length, 0)),
      mapped(std::exchange(other.mapped, 0)) {}

MappedBytes &MappedBytes::operator=(MappedBytes &&other) noexcept {
  std::swap(start, other.start);
  std::swap(length, other.length);
  std::swap(mapped, other.mapped);
  return *this;
}

MappedBytes::~MappedBytes() {
  if (start)
    ::munmap(start, mapped);
}

Expected<MappedBytes> MappedBytes::openFile(const std::string &path) {
  const char *readable = "a file that can be read";
  // O_NONBLOCK: opening a pipe must reach the error below, not wait for a writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts = {};
  if (file.get() < 0 || ::fstat(file.get(), &facts) != 0)
    return systemError(path, readable);
  if (!S_ISREG(facts.st_mode))
    return inputError(path + ": expected a file, found " +
                      (S_ISDIR(facts.st_mode) ? "a directory" : "a device or a pipe"));
  int64_t mapped = wholePages(facts.st_size) + slack;
  void *start = reserve(mapped, PROT_READ);
  if (start == MAP_FAILED)
    return systemError(path, readable);
  MappedBytes bytes(static_cast<std::byte *>(start), facts.st_size, mapped);
  if (facts.st_size > 0 &&
      ::mmap(start, facts.st_size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file.get(), 0) == MAP_FAILED)
    return systemError(path, readable);
  adviseHugePages(start, facts.st_size);
  return bytes;
}

Expected<MappedBytes> MappedBytes::allocate(int64_t size) {
  int64_t mapped = wholePages(size) + slack;
  void *start = reserve(mapped, PROT_READ | PROT_WRITE);
  if (start == MAP_FAILED)
    return systemError("memory", std::to_string(size) + " bytes");
  adviseHugePages(start, mapped);
  return MappedBytes(static_cast<std::byte *>(start), size, mapped);
}

Status MappedBytes::grow(int64_t size) {
  MappedBytes larger = HEDDLE_TRY(allocate(size));
  if (mapped > 0 &&
      ::mremap(start, mapped, mapped, MREMAP_MAYMOVE | MREMAP_FIXED, larger.start) == MAP_FAILED)
    return systemError("memory", std::to_string(size) + " bytes");
  start = nullptr; // its pages now belong to the larger mapping
  *this = std::move(larger);
  return {};
}

Expected<MappedBytes> MappedBytes::mapForWriting(int descriptor, int64_t size,
                                                 const std::string &path) {
  const FileSizeSignalBlock block;
  const std::string space = "space for " + std::to_string(size) + " bytes";
  if (int code = ::posix_fallocate(descriptor, 0, size))
    return systemError(path, space, code);
  void *start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (start == MAP_FAILED)
    return systemError(path, space);
  adviseHugePages(start, size); // the page cache keeps huge pages for later readers
  return MappedBytes(static_cast<std::byte *>(start), size, size);
}

bool staysInFolder(const std::string &path) {
  const std::filesystem::path inner = std::filesystem::path(path).lexically_normal();
  return inner.is_relative() && (inner.empty() || *inner.begin() != "..");
}

std::string_view foreignFile(std::string_view contents) {
  static constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {"version https://git-lfs",
       "a pointer of Git LFS, which `git lfs pull` replaces by the file"},
      {"PK\x03\x04", "a ZIP archive, as checkpoints of PyTorch are"},
      {"\x80\x02", "a pickle, as old checkpoints of PyTorch are"},
      {"\x89HDF", "an HDF5 file, as checkpoints of Keras are"},
      {"GGUF", "a GGUF file"},
      {"<!", "an HTML page, perhaps of a download that failed"},
      {"<html", "an HTML page, perhaps of a download that failed"}};
  for (auto [beginning, kind] : kinds)
    if (contents.starts_with(beginning))
      return kind;
  return {};
}

bool isThere(const std::filesystem::path &path) {
  struct stat facts = {};
  return ::lstat(path.c_str(), &facts) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

Expected<std::string> readTextFile(const std::string &path, int64_t most) {
  const char *readable = "a file that can be read";
  if (!isThere(path))
    return inputError(path + ": expected a file, found none");
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); // see openFile
  struct stat facts = {};
  if (file.get() < 0 || ::fstat(file.get(), &facts) != 0)
    return systemError(path, readable);
  if (!S_ISREG(facts.st_mode))
    return inputError(path + ": expected a file, found something else");
  if (facts.st_size > most)
    return inputError(path + ": expected at most " + std::to_string(most) + " bytes, found " +
                      std::to_string(facts.st_size));
  std::string text(static_cast<size_t>(facts.st_size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(path, readable);
    if (count == 0)
      return inputError(path + ": expected a file of " + std::to_string(text.size()) +
                        " bytes, found one that shrinks while it is read");
    done += static_cast<size_t>(count);
  }
  return text;
}

} // namespace heddle
