//===- PipelineCache.h - Compiled pipelines on disk -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The VkPipelineCache of a program's kernels, kept in the user's cache directory. A damaged file, a
// file of another driver and a read-only directory are no errors: the driver compiles again.
#pragma once

#include "LogicalDevice.h"

#include <string>

namespace heddle::vulkan {

/// Pipeline cache of one program on one device.
class PipelineCache {
public:
  /// Opens the cache; `codeHash` is a hash of the program's SPIR-V and names the file.
  static Expected<PipelineCache> open(const LogicalDevice &device, uint64_t codeHash);
  PipelineCache(PipelineCache &&other) noexcept;
  PipelineCache &operator=(PipelineCache &&) = delete;
  ~PipelineCache();

  VkPipelineCache handle() const { return cache; }
  /// Writes the file if pipelines have been added since it was read.
  void save() const;

private:
  PipelineCache(const LogicalDevice &device, std::string path)
      : device(&device), path(std::move(path)) {}

  const LogicalDevice *device;
  std::string path; ///< empty: there is no cache directory
  VkPipelineCache cache = VK_NULL_HANDLE;
  size_t loadedBytes = 0;
};

/// FNV-1a hash of `bytes`, continued from `hash`.
uint64_t fnv1a(const void *bytes, size_t count, uint64_t hash = 0xcbf29ce484222325);

} // namespace heddle::vulkan
