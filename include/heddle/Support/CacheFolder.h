//===- CacheFolder.h - The user's cache folder -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled folders, kernels, pipelines and measured rates are kept for later processes. Nothing fails
// if the folder is missing or cannot be written, and any file in it may be deleted
// at any time.
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

/// What names in the folder begin with, and what people call it. All that is kept is one of these.
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

/// $XDG_CACHE_HOME/heddle, else ~/.cache/heddle; empty if neither variable holds an absolute path, or if
/// others own that folder or may write to it: code is kept in it.
std::string cacheDirectory();
/// Why cacheDirectory() is empty: "expected …, found …"; empty if it is not.
std::string whyNoCacheDirectory();

/// Makes the folder with its parents. It is its owner's alone whatever the umask is, also where it was
/// there before, because code is kept in it.
std::error_code makeCacheFolder(const std::string &folder);

/// Makes room for a file: deletes a folder that stands in its place.
void clearPlace(const std::string &path);

/// Content of a file, which the caller must check; none if it is empty or cannot be read.
std::optional<std::string> readFromCache(const std::string &path);

/// Writes a file that its owner alone can read, and makes its folder if needed; ignores errors. The file appears atomically but
/// without fsync, so after a power cut its content may be damaged.
void keepInCache(const std::string &path, std::string_view bytes);

/// Sets a file's time to now, which limitCache takes for its last use.
void touchInCache(const std::string &path);

struct CachedFile {
  std::filesystem::path path;
  std::filesystem::file_time_type used;
  uintmax_t bytes;
};
/// Files of the folder with this prefix (and folders, of 0 bytes), most recently used first.
std::vector<CachedFile> cachedFiles(std::string_view prefix);

/// Bytes that an environment variable (a number of MiB) allows; usage error for other text.
Expected<uint64_t> cacheLimit(const char *variable, uint64_t defaultMegabytes);

/// Deletes the least recently used files whose names begin with `prefix` until at most `files` are
/// left, with at most `bytes` in them.
void limitCache(std::string_view prefix, size_t files, uintmax_t bytes);

} // namespace heddle
