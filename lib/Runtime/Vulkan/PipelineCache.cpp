//===- PipelineCache.cpp - Compiled pipelines on disk -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of pipeline caches. A file holds a hash followed by the driver's data, since drivers check
// little of their input. Each model has a file; the most recently used files are kept.
#include "PipelineCache.h"

#include "heddle/Support/CacheFolder.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace heddle::vulkan {

uint64_t fnv1a(const void *bytes, size_t count, uint64_t hash) {
  const auto *at = static_cast<const unsigned char *>(bytes);
  for (size_t i = 0; i < count; ++i)
    hash = (hash ^ at[i]) * 0x100000001b3;
  return hash;
}

/// Data of a cache file; empty if it is missing or damaged.
static std::vector<char> readCache(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  uint64_t hash = 0;
  if (bytes.size() <= sizeof hash)
    return {};
  std::memcpy(&hash, bytes.data(), sizeof hash);
  bytes.erase(bytes.begin(), bytes.begin() + sizeof hash);
  return fnv1a(bytes.data(), bytes.size()) == hash ? std::move(bytes) : std::vector<char>();
}

Expected<PipelineCache> PipelineCache::open(const LogicalDevice &device, uint64_t codeHash) {
  std::string hash = formatted("%016llx", static_cast<unsigned long long>(codeHash));
  std::string directory = cacheDirectory();
  if (!directory.empty())
    directory += "/" + std::string(cachedPipelines.prefix) + device.physical().cacheKey() + "-" +
                 hash + ".bin";
  PipelineCache opened(device, directory);
  std::vector<char> data = readCache(opened.path);
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  HEDDLE_TRY(checked(
      "creating a pipeline cache",
      device.functions().vkCreatePipelineCache(device.handle(), &info, nullptr, &opened.cache)));
  opened.loadedBytes = data.size();
  if (!data.empty())
    touchInCache(opened.path);
  return opened;
}

PipelineCache::PipelineCache(PipelineCache &&other) noexcept
    : device(other.device), path(std::move(other.path)),
      cache(std::exchange(other.cache, VK_NULL_HANDLE)), loadedBytes(other.loadedBytes) {}

PipelineCache::~PipelineCache() {
  if (cache)
    device->functions().vkDestroyPipelineCache(device->handle(), cache, nullptr);
}

/// Writes nothing if the driver added no pipelines, or if it returns only a header.
void PipelineCache::save() const {
  const VolkDeviceTable &vk = device->functions();
  size_t size = 0;
  if (path.empty() ||
      vk.vkGetPipelineCacheData(device->handle(), cache, &size, nullptr) != VK_SUCCESS ||
      size <= std::max(loadedBytes, sizeof(VkPipelineCacheHeaderVersionOne)))
    return;
  std::string bytes(sizeof(uint64_t) + size, '\0');
  char *data = bytes.data() + sizeof(uint64_t);
  if (vk.vkGetPipelineCacheData(device->handle(), cache, &size, data) != VK_SUCCESS)
    return;
  uint64_t hash = fnv1a(data, size);
  std::memcpy(bytes.data(), &hash, sizeof hash);
  bytes.resize(sizeof hash + size);
  keepInCache(path, bytes);
  limitCache(cachedPipelines.prefix, 100, 256 << 20);
}

} // namespace heddle::vulkan
