//===- Instance.h - The Vulkan loader and its instance ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens the Vulkan loader at run time. HEDDLE_VULKAN_VALIDATION=1 enables the validation layer,
// including synchronization validation, and keeps its messages.
#pragma once

#include "heddle/Support/Error.h"

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>
#include <volk.h>

namespace heddle::vulkan {

/// Success, or a device error "vulkan: `what`: `result`".
Status checked(std::string_view what, VkResult result);

/// Input error for a machine that cannot run kernels; `missing` says what it lacks.
Error noDriver(std::string_view missing);

/// A VkInstance of Vulkan 1.1, with a debug messenger if validation is on.
class Instance {
public:
  /// Creates an instance. Input error if there is no loader or driver, or no validation layer
  /// although it is requested.
  static Expected<std::unique_ptr<Instance>> create();
  ~Instance();
  Instance(const Instance &) = delete;
  Instance &operator=(const Instance &) = delete;

  VkInstance handle() const { return instance; }
  bool validates() const { return messenger != VK_NULL_HANDLE; }
  std::vector<VkPhysicalDevice> physicalDevices() const;
  /// Error with the validation layer's first message since the last call; success without one.
  Status takeMessages() const;

private:
  Instance() = default;
  Status createInstance(bool validate);
  Status addMessenger();
  static VKAPI_ATTR VkBool32 VKAPI_CALL receive(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                VkDebugUtilsMessageTypeFlagsEXT type,
                                                const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                void *self);

  VkInstance instance = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  mutable std::mutex lock; ///< layers report from any thread
  mutable std::vector<std::string> messages;
};

} // namespace heddle::vulkan
