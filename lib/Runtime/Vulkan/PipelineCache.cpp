//===- PipelineCache.cpp - Compiled pipelines on disk -----------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file is a hash of the data and the data: drivers check little of what
// they are given.
//
//===----------------------------------------------------------------------===//
#include "PipelineCache.h"

#include "heddle/Support/CpuRates.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace heddle::vulkan {

uint64_t fnv1a(const void *bytes, size_t count, uint64_t hash) {
  const auto *at = static_cast<const unsigned char *>(bytes);
  for (size_t i = 0; i < count; ++i)
    hash = (hash ^ at[i]) * 0x100000001b3;
  return hash;
}

/// The data of a sound cache file, else nothing.
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
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(codeHash));
  std::string directory = cacheDirectory();
  if (!directory.empty())
    directory += "/vulkan-" + device.physical().cacheKey() + "-" + hash + ".bin";
  PipelineCache opened(device, directory);
  std::vector<char> data = readCache(opened.path);
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  VkResult result =
      device.functions().vkCreatePipelineCache(device.handle(), &info, nullptr, &opened.cache);
  if (result != VK_SUCCESS)
    return resultError("making a pipeline cache", result);
  opened.loadedBytes = data.size();
  return opened;
}

PipelineCache::PipelineCache(PipelineCache &&other) noexcept
    : device(other.device), path(std::move(other.path)),
      cache(std::exchange(other.cache, VK_NULL_HANDLE)), loadedBytes(other.loadedBytes) {}

PipelineCache::~PipelineCache() {
  if (cache)
    device->functions().vkDestroyPipelineCache(device->handle(), cache, nullptr);
}

void PipelineCache::save() const {
  const VolkDeviceTable &vk = device->functions();
  size_t size = 0;
  if (path.empty() ||
      vk.vkGetPipelineCacheData(device->handle(), cache, &size, nullptr) != VK_SUCCESS ||
      size <= loadedBytes)
    return;
  std::vector<char> data(size);
  if (vk.vkGetPipelineCacheData(device->handle(), cache, &size, data.data()) != VK_SUCCESS)
    return;
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failure);
  // Beside and renamed: another process may read or write the same file.
  std::string beside = path + "." + std::to_string(getpid());
  uint64_t hash = fnv1a(data.data(), size);
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char *>(&hash), sizeof hash);
  file.write(data.data(), static_cast<std::streamsize>(size));
  file.close();
  if (!file || std::rename(beside.c_str(), path.c_str()) != 0)
    std::remove(beside.c_str());
}

} // namespace heddle::vulkan
