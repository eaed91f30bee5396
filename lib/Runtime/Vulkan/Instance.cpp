//===- Instance.cpp - The Vulkan loader and its instance --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vulkan instances and validation. This file compiles volk, whose tables hold the loader's
// functions.
#define VOLK_IMPLEMENTATION
#include "Instance.h"

#include "heddle/Support/Try.h"

#include <cstdlib>

namespace heddle::vulkan {

static constexpr const char *validationLayer = "VK_LAYER_KHRONOS_validation";

static const char *resultName(VkResult result) {
  switch (result) {
  case VK_ERROR_OUT_OF_HOST_MEMORY:
    return "out of host memory";
  case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    return "out of device memory";
  case VK_ERROR_DEVICE_LOST:
    return "the device was lost";
  case VK_ERROR_INITIALIZATION_FAILED:
    return "initialization failed";
  case VK_ERROR_MEMORY_MAP_FAILED:
    return "mapping memory failed";
  case VK_ERROR_FEATURE_NOT_PRESENT:
    return "a feature is not present";
  case VK_ERROR_EXTENSION_NOT_PRESENT:
    return "an extension is not present";
  case VK_ERROR_TOO_MANY_OBJECTS:
    return "too many objects";
  case VK_ERROR_INVALID_SHADER_NV:
    return "the driver refuses the shader";
  case VK_ERROR_UNKNOWN:
    return "the driver does not say why";
  case VK_TIMEOUT:
    return "it took too long";
  default:
    return nullptr;
  }
}

Error noDriver(std::string_view missing) {
  return inputError("vulkan: no Vulkan driver found (" + std::string(missing) + ")");
}

Status checked(std::string_view what, VkResult result) {
  if (result == VK_SUCCESS)
    return {};
  const char *name = resultName(result);
  return deviceError("vulkan: " + std::string(what) + ": " +
                     (name ? name : "result " + std::to_string(result)));
}

static bool wantsValidation() {
  const char *value = std::getenv("HEDDLE_VULKAN_VALIDATION");
  return value && std::string_view(value) == "1";
}

static bool hasLayer() {
  uint32_t count = 0;
  vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  vkEnumerateInstanceLayerProperties(&count, layers.data());
  for (const VkLayerProperties &layer : layers)
    if (std::string_view(layer.layerName) == validationLayer)
      return true;
  return false;
}

Expected<std::unique_ptr<Instance>> Instance::create() {
  if (volkInitialize() != VK_SUCCESS)
    return noDriver("there is no libvulkan.so.1");
  bool validate = wantsValidation();
  if (validate && !hasLayer())
    return inputError(std::string("vulkan: HEDDLE_VULKAN_VALIDATION: expected the layer ") +
                      validationLayer + ", found none");
  std::unique_ptr<Instance> created(new Instance);
  HEDDLE_TRY(created->createInstance(validate));
  if (validate)
    HEDDLE_TRY(created->addMessenger());
  return created;
}

/// Creates the instance. Validation includes synchronization validation, which checks the barriers
/// between commands.
Status Instance::createInstance(bool validate) {
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "heddle";
  application.apiVersion = VK_API_VERSION_1_1;

  VkValidationFeatureEnableEXT enabled =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = &enabled;
  const char *extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                              VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};

  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  if (validate) {
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &validationLayer;
    info.enabledExtensionCount = 2;
    info.ppEnabledExtensionNames = extensions;
  }
  VkResult result = vkCreateInstance(&info, nullptr, &instance);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
    return noDriver("the loader knows none");
  HEDDLE_TRY(checked("creating an instance", result));
  volkLoadInstanceOnly(instance);
  return {};
}

Status Instance::addMessenger() {
  VkDebugUtilsMessengerCreateInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = receive;
  info.pUserData = this;
  return checked("listening to the validation layer",
                 vkCreateDebugUtilsMessengerEXT(instance, &info, nullptr, &messenger));
}

VkBool32 Instance::receive(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                           const VkDebugUtilsMessengerCallbackDataEXT *data, void *self) {
  auto *instance = static_cast<Instance *>(self);
  std::lock_guard guard(instance->lock);
  instance->messages.emplace_back(data->pMessage ? data->pMessage : "a message without text");
  return VK_FALSE;
}

Instance::~Instance() {
  if (messenger)
    vkDestroyDebugUtilsMessengerEXT(instance, messenger, nullptr);
  if (instance)
    vkDestroyInstance(instance, nullptr);
}

std::vector<VkPhysicalDevice> Instance::physicalDevices() const {
  uint32_t count = 0;
  if (vkEnumeratePhysicalDevices(instance, &count, nullptr) != VK_SUCCESS)
    return {};
  std::vector<VkPhysicalDevice> devices(count);
  vkEnumeratePhysicalDevices(instance, &count, devices.data());
  devices.resize(count);
  return devices;
}

Status Instance::takeMessages() const {
  std::lock_guard guard(lock);
  if (messages.empty())
    return {};
  std::string first = std::move(messages.front());
  size_t count = messages.size();
  messages.clear();
  for (char &c : first)
    c = c == '\n' ? ' ' : c;
  return deviceError("vulkan: validation: " + first +
                     (count > 1 ? " (and " + std::to_string(count - 1) + " more)" : ""));
}

} // namespace heddle::vulkan
