//===- CacheFolder.h - What later processes need not do again --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One folder holds what was measured or compiled on this machine. It is a
// convenience: nothing fails where it is missing or cannot be written, and any of
// its files may be deleted at any time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle {

/// $XDG_CACHE_HOME/heddle, else ~/.cache/heddle; empty where neither is known.
std::string cacheDirectory();

/// The content of a file of the folder, whatever it is worth; nothing where it cannot be read.
std::optional<std::string> readFromCache(const std::string &path);

/// Writes a file of the folder, which is made if need be. Readers find all of it or nothing, but
/// for a power cut: they check what they find.
void keepInCache(const std::string &path, std::string_view bytes);

/// Says that a file was of use: those that were of use last go last.
void touchInCache(const std::string &path);

/// Of the folder's files whose names begin with `prefix`, deletes the oldest until at most `files`
/// are left and at most `bytes` in them.
void limitCache(std::string_view prefix, size_t files, uintmax_t bytes);

} // namespace heddle
