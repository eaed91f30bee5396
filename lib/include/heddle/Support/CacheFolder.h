//===- CacheFolder.h - The user's cache folder -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cache folder for compiled folders, kernels, pipelines and measured rates. Nothing fails if the
// folder is missing or cannot be written, and any file in it may be deleted at any time.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace heddle {

/// Prefix of file names in the folder, and the name that users see. Every file in the cache belongs
/// to one of these kinds.
struct CacheKind {
  std::string_view prefix, name;
};
inline constexpr CacheKind cachedModels = {"model-", "compiled folders"},
                           cachedFolders = {"folder-", "names of folders"},
                           cachedKernels = {"kernel-", "kernels"},
                           cachedPipelines = {"vulkan-", "pipelines of Vulkan"},
                           cachedRates = {"cpu-rates-", "rates of processors"};
inline constexpr CacheKind cacheKinds[] = {cachedModels, cachedFolders, cachedKernels,
                                           cachedPipelines, cachedRates};

/// Path of the cache folder: $XDG_CACHE_HOME/heddle, or else ~/.cache/heddle. Empty if neither
/// variable has an absolute path, or if others own the folder or may write to it, because it
/// contains code.
std::string cacheDirectory();
/// Why cacheDirectory() is empty, as "expected …, found …"; empty if it is not.
std::string whyNoCacheDirectory();

/// Makes the folder and its parents. Only its owner has access, whatever the umask is and even if
/// it existed before, because it contains code.
std::error_code makeCacheFolder(const std::string &folder);

/// Makes room for a file: deletes a folder with its path.
void clearPlace(const std::string &path);

/// Content of a file, which the caller must check; none if the file is empty or cannot be read.
std::optional<std::string> readFromCache(const std::string &path);

/// Writes a file that only its owner can read, and makes its folder if needed. Ignores errors. The
/// file is replaced atomically but without fsync, so its content may be damaged after a power
/// failure.
void keepInCache(const std::string &path, std::string_view bytes);

/// Sets a file's time to now. limitCache uses it as the time of the last use.
void touchInCache(const std::string &path);

struct CachedFile {
  std::filesystem::path path;
  std::filesystem::file_time_type used;
  uintmax_t bytes;
};
/// Files with this prefix in the folder (and folders, with 0 bytes), most recently used first.
std::vector<CachedFile> cachedFiles(std::string_view prefix);

/// Limit in bytes from an environment variable (a number of MiB). Usage error for other text.
Expected<uint64_t> cacheLimit(const char *variable, uint64_t defaultMegabytes);

/// Deletes the least recently used files with this prefix until at most `files` are left, with at
/// most `bytes` in total.
void limitCache(std::string_view prefix, size_t files, uintmax_t bytes);

} // namespace heddle
