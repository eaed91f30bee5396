//===- Pipelines.cpp - Driver statistics of compute kernels ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle-gpu-pipelines [ID=VALUE | @SUBGROUP | FILE.spv] ...
//
// Makes a compute pipeline of each module on the first device and prints the driver's statistics
// and assembly. Nothing runs, so Mesa's null hardware is sufficient (bench/gpu-static).
// Specialization constants and a required subgroup size apply to the modules that follow them. It
// prints these lines:
//
//   module FILE            refused RESULT
//   statistic VALUE NAME   code LINE
#include "NewerVulkan.h"
#include "PipelineStatistics.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

using namespace heddle::vulkan;

namespace {

[[noreturn]] void fail(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(1);
}

void check(VkResult result, const char *what) {
  if (result != VK_SUCCESS)
    fail(std::string("expected ") + what + " to succeed, found VkResult " + std::to_string(result));
}

/// The first device, with all its features that kernels may need.
class Device {
public:
  Device() {
    check(volkInitialize(), "opening the Vulkan loader");
    VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    info.pApplicationInfo = &application;
    check(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
    volkLoadInstanceOnly(instance);
    uint32_t count = 1;
    vkEnumeratePhysicalDevices(instance, &count, &physical);
    if (count == 0)
      fail("expected a Vulkan device, found none");
    create();
    volkLoadDeviceTable(&functions, device);
  }

  bool has(std::string_view extension) const {
    for (const VkExtensionProperties &found : extensions)
      if (extension == found.extensionName)
        return true;
    return false;
  }

  VkInstance instance = nullptr;
  VkPhysicalDevice physical = nullptr;
  VkDevice device = nullptr;
  VolkDeviceTable functions{};

private:
  /// Requests features of 1.1 to 1.3, statistics, and cooperative matrices if the device has them.
  void create() {
    uint32_t count = 0;
    vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
    extensions.resize(count);
    vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, extensions.data());
    std::vector<const char *> names;
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    auto ask = [&](auto &structure, const char *extension) {
      if (extension && !has(extension))
        return;
      if (extension)
        names.push_back(extension);
      structure.pNext = features.pNext;
      features.pNext = &structure;
    };
    VkPhysicalDeviceVulkan11Features core11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
    VkPhysicalDeviceVulkan12Features core12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceVulkan13Features core13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
    ask(core11, nullptr);
    ask(core12, nullptr);
    ask(core13, nullptr);
    if (!has(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME))
      fail("expected a device that tells statistics of pipelines, found none");
    ask(statistics, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, nullptr, 0, 0};
    ask(matrices, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    vkGetPhysicalDeviceFeatures2(physical, &features);
    features.features.robustBufferAccess = VK_FALSE;
    float priority = 1;
    VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features};
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<uint32_t>(names.size());
    info.ppEnabledExtensionNames = names.data();
    check(vkCreateDevice(physical, &info, nullptr, &device), "vkCreateDevice");
  }

  std::vector<VkExtensionProperties> extensions;
};

/// Layout with buffers at bindings 0 to 15 of set 0 and 32 words of push constants: more than any
/// kernel has.
VkPipelineLayout makeLayout(const Device &device) {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t number = 0; number < 16; ++number)
    bindings.push_back({number, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT});
  VkDescriptorSetLayoutCreateInfo setInfo{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  setInfo.bindingCount = static_cast<uint32_t>(bindings.size());
  setInfo.pBindings = bindings.data();
  VkDescriptorSetLayout set = nullptr;
  check(device.functions.vkCreateDescriptorSetLayout(device.device, &setInfo, nullptr, &set),
        "vkCreateDescriptorSetLayout");
  VkPushConstantRange words{VK_SHADER_STAGE_COMPUTE_BIT, 0, 128};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.setLayoutCount = 1;
  info.pSetLayouts = &set;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &words;
  VkPipelineLayout layout = nullptr;
  check(device.functions.vkCreatePipelineLayout(device.device, &info, nullptr, &layout),
        "vkCreatePipelineLayout");
  return layout;
}

struct Constants {
  std::vector<VkSpecializationMapEntry> entries;
  std::vector<uint32_t> values;
  uint32_t subgroup = 0; ///< required size; 0: the driver's choice
};

VkResult makePipeline(const Device &device, VkPipelineLayout layout, const Constants &constants,
                      const std::vector<char> &bytes, VkPipeline &pipeline) {
  std::vector<uint32_t> words(bytes.size() / 4);
  std::copy_n(bytes.data(), words.size() * 4, reinterpret_cast<char *>(words.data()));
  VkShaderModuleCreateInfo moduleInfo{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  moduleInfo.codeSize = words.size() * 4;
  moduleInfo.pCode = words.data();
  VkShaderModule module = nullptr;
  if (VkResult made =
          device.functions.vkCreateShaderModule(device.device, &moduleInfo, nullptr, &module);
      made != VK_SUCCESS)
    return made;
  VkSpecializationInfo specialization{static_cast<uint32_t>(constants.entries.size()),
                                      constants.entries.data(), constants.values.size() * 4,
                                      constants.values.data()};
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
  size.requiredSubgroupSize = constants.subgroup;
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.flags = keepsStatistics | keepsAssembly;
  info.layout = layout;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  if (constants.subgroup) {
    info.stage.pNext = &size;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &specialization;
  return device.functions.vkCreateComputePipelines(device.device, nullptr, 1, &info, nullptr,
                                                   &pipeline);
}

void report(const Device &device, VkPipelineLayout layout, const Constants &constants,
            const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file && bytes.empty())
    fail(std::string("expected a SPIR-V module in ") + path + ", found none");
  std::printf("module %s\n", path);
  VkPipeline pipeline = nullptr;
  if (VkResult made = makePipeline(device, layout, constants, bytes, pipeline);
      made != VK_SUCCESS) {
    std::printf("refused %d\n", made);
    return;
  }
  for (const PipelineStatistic &statistic : statisticsOf(device.functions, device.device, pipeline))
    std::printf("statistic %.17g %s\n", statistic.value, statistic.name.c_str());
  for (const std::string &line : assemblyOf(device.functions, device.device, pipeline))
    std::printf("code %s\n", line.c_str());
  device.functions.vkDestroyPipeline(device.device, pipeline, nullptr);
}

} // namespace

int main(int count, char **arguments) {
  Device device;
  VkPipelineLayout layout = makeLayout(device);
  Constants constants;
  for (int i = 1; i < count; ++i) {
    std::string_view argument = arguments[i];
    size_t equals = argument.find('=');
    auto numberIn = [](std::string_view text) {
      uint32_t value = 0;
      std::from_chars(text.data(), text.data() + text.size(), value);
      return value;
    };
    if (argument.starts_with('@')) {
      constants.subgroup = numberIn(argument.substr(1));
    } else if (equals != std::string_view::npos &&
               argument.find_first_not_of("0123456789=") == std::string_view::npos) {
      auto offset = static_cast<uint32_t>(constants.values.size() * 4);
      constants.entries.push_back({numberIn(argument.substr(0, equals)), offset, 4});
      constants.values.push_back(numberIn(argument.substr(equals + 1)));
    } else {
      report(device, layout, constants, arguments[i]);
    }
  }
  std::fflush(stdout);
  _exit(0); // the null device crashes when it is destroyed
}
