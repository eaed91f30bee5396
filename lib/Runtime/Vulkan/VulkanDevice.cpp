//===- VulkanDevice.cpp - A session's memory and calls on Vulkan ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Execution of calls on a Vulkan device. Windows keep descriptor ranges within
// maxStorageBufferRange; if a weight exceeds it, a launch runs once per window of the weight. Split
// dispatches keep grids within maxComputeWorkGroupCount.
#include "VulkanDevice.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <map>

namespace heddle::vulkan {

static bool usesTwins(const Program &program) {
  return std::ranges::any_of(program.functions, [](const Function &function) {
    return std::ranges::find(function.buffers, Buffer::Kind::Twin, &Buffer::kind) !=
           function.buffers.end();
  });
}

VulkanDevice::VulkanDevice(const LogicalDevice &device, const KernelPipelines &kernels,
                           const MemoryBuffer *weights, const WeightPlacement &placement,
                           const Program &program)
    : device(device), kernels(kernels), weights(weights), placement(placement), program(program),
      hasTwins(usesTwins(program)) {}

Expected<std::unique_ptr<Device>> VulkanDevice::create(const LogicalDevice &device,
                                                       const KernelPipelines &kernels,
                                                       const MemoryBuffer *weights,
                                                       const WeightPlacement &placement,
                                                       const Program &program) {
  std::unique_ptr<VulkanDevice> created(
      new VulkanDevice(device, kernels, weights, placement, program));
  created->recorder = HEDDLE_TRY(CommandRecorder::create(device));
  created->preparer = HEDDLE_TRY(CommandRecorder::create(device));
  created->blocks = HEDDLE_TRY(ArgumentBlocks::create(device));
  created->descriptors =
      std::make_unique<DescriptorCache>(device, kernels.setLayout(), created->blocks->handle());
  return std::unique_ptr<Device>(std::move(created));
}

//===- Memory ------------------------------------------------------------===//

/// Grows planned memory. The new buffer invalidates all descriptor sets.
Status VulkanDevice::resize(int64_t bytes, int64_t keep) {
  if (memory && bytes <= size)
    return {};
  auto larger =
      HEDDLE_TRY(MemoryBuffer::create(device, bytes + memorySlack, MemoryBuffer::Kind::Device));
  int64_t kept = std::min(keep, size);
  if (kept > 0 && memory->mapped()) {
    std::memcpy(larger.mapped(), memory->mapped(), static_cast<size_t>(kept));
  } else if (kept > 0) {
    recorder->begin();
    recorder->commands().copy({memory->handle(), larger.handle(), 0, 0, kept});
    HEDDLE_TRY(recorder->run());
  }
  forgetBuffers();
  memory = std::move(larger);
  size = bytes;
  return {};
}

/// Drops descriptor sets and recordings. A buffer may be created with the handle of a destroyed one.
void VulkanDevice::forgetBuffers() {
  recorder->forget();
  preparer->forget();
  descriptors->clear();
}

Status VulkanDevice::begin() {
  // Replaces the staging buffers of the last call by one with their total size.
  if (staging.size() > 1) {
    int64_t total = 0;
    for (const MemoryBuffer &buffer : staging)
      total += buffer.size();
    recorder->forget();
    staging.clear();
    staging.push_back(HEDDLE_TRY(MemoryBuffer::create(device, total, MemoryBuffer::Kind::Staging)));
  }
  stagingUsed = 0;
  downloads.clear();
  blocks->clear();
  recorder->begin();
  return {};
}

Expected<VulkanDevice::Staged> VulkanDevice::stage(MemoryRange range) {
  constexpr int64_t smallest = int64_t{1} << 20;
  if (staging.empty() || stagingUsed + range.bytes > staging.back().size()) {
    staging.push_back(HEDDLE_TRY(MemoryBuffer::create(device, std::max(smallest, range.bytes),
                                                      MemoryBuffer::Kind::Staging)));
    stagingUsed = 0;
  }
  Staged staged{range, staging.size() - 1, stagingUsed};
  stagingUsed += (range.bytes + 15) / 16 * 16;
  return staged;
}

Expected<std::byte *> VulkanDevice::upload(MemoryRange range) {
  if (memory->mapped())
    return memory->mapped() + range.offset;
  auto staged = HEDDLE_TRY(stage(range));
  MemoryBuffer &buffer = staging[staged.buffer];
  recorder->commands().copy(
      {buffer.handle(), memory->handle(), staged.offset, range.offset, range.bytes});
  return buffer.mapped() + staged.offset;
}

Status VulkanDevice::copy(int64_t from, int64_t to, int64_t bytes) {
  if (memory->mapped())
    std::memmove(memory->mapped() + to, memory->mapped() + from, static_cast<size_t>(bytes));
  else
    recorder->commands().copy({memory->handle(), memory->handle(), from, to, bytes});
  return {};
}

Status VulkanDevice::fill(MemoryRange range, uint32_t pattern) {
  if (!memory->mapped()) {
    recorder->commands().fill({memory->handle(), range.offset, range.bytes, pattern});
    return {};
  }
  auto *words = reinterpret_cast<uint32_t *>(memory->mapped() + range.offset);
  std::fill(words, words + range.bytes / 4, pattern);
  return {};
}

Status VulkanDevice::download(MemoryRange range) {
  if (memory->mapped())
    return {};
  auto staged = HEDDLE_TRY(stage(range));
  recorder->commands().copy({memory->handle(), staging[staged.buffer].handle(), range.offset,
                             staged.offset, range.bytes});
  downloads.push_back(staged);
  return {};
}

Status VulkanDevice::finish() { return recorder->run(); }

std::span<const std::byte> VulkanDevice::downloaded(MemoryRange range) const {
  auto bytes = static_cast<size_t>(range.bytes);
  if (memory->mapped())
    return {memory->mapped() + range.offset, bytes};
  auto staged = std::ranges::find_if(downloads, [&](const Staged &s) {
    return s.range.offset == range.offset && s.range.bytes == range.bytes;
  });
  assert(staged != downloads.end() && "a range that was not requested");
  return {staging[staged->buffer].mapped() + staged->offset, bytes};
}

//===- Launches ----------------------------------------------------------===//

const WindowedWeight *VulkanDevice::placeArguments(const LaunchCall &call) {
  const WindowedWeight *windowed = nullptr;
  offsets.clear();
  for (const LaunchAddress &argument : call.arguments) {
    offsets.push_back(argument.offset);
    if (!argument.weight || placement.isPlain())
      continue;
    const size_t weight = placement.weightAt(argument.offset);
    offsets.back() += placement.place(weight) - program.weights[weight].offset;
    if (!windowed)
      windowed = placement.windowsOf(weight);
  }
  return windowed;
}

Status VulkanDevice::enterWindow(const LaunchCall &call, const WindowedWeight &windowed,
                                 const WeightPart &part) {
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const LaunchAddress &argument = call.arguments[i];
    if (!argument.weight)
      continue;
    const size_t weight = placement.weightAt(argument.offset);
    const int64_t inside = argument.offset - program.weights[weight].offset;
    if (placement.windowsOf(weight) == &windowed) {
      offsets[i] = part.origin + inside;
    } else if (auto beside = windowed.beside.find(weight); beside != windowed.beside.end()) {
      offsets[i] = part.begin + beside->second + inside;
    } else {
      return inputError("vulkan: kernel " + program.kernels[call.kernel].name +
                        ": expected one weight beyond a window, found two");
    }
  }
  return {};
}

std::optional<Window> VulkanDevice::windowOf(const LaunchCall &call, bool weight) const {
  // Every binding needs a valid buffer: memory substitutes for missing weights.
  const MemoryBuffer &buffer = weight && weights ? *weights : *memory;
  if (buffer.size() <= range())
    return Window{buffer.handle(), 0, buffer.size()};
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    if (call.arguments[i].weight != weight)
      continue;
    begin = std::min(begin, offsets[i]);
    end = std::max(end, offsets[i] + call.arguments[i].bytes);
  }
  begin = std::min(begin, end) / device.physical().windowAlignment() *
          device.physical().windowAlignment();
  if (end - begin > range())
    return std::nullopt;
  return Window{buffer.handle(), begin, std::min(range(), buffer.size() - begin)};
}

Error VulkanDevice::beyondRange(const LaunchCall &call, const char *what, int64_t bytes) const {
  return inputError("vulkan: kernel " + program.kernels[call.kernel].name + ": expected its " +
                    what + " within " + std::to_string(range()) + " bytes, found " +
                    std::to_string(bytes));
}

/// Gathers arguments that are too far apart into copies: activations follow the caches
/// of all layers, and a launch reads the caches of one layer.
Expected<Window> VulkanDevice::memoryWindow(const LaunchCall &call) {
  if (std::optional<Window> window = windowOf(call, false))
    return *window;
  std::map<int64_t, MemoryRange> ranges; // by their ends; overlapping ranges are merged
  for (const LaunchAddress &argument : call.arguments) {
    if (argument.weight)
      continue;
    int64_t begin = argument.offset, end = begin + argument.bytes;
    for (auto at = ranges.lower_bound(begin); at != ranges.end() && at->second.offset <= end;
         at = ranges.erase(at)) {
      begin = std::min(begin, at->second.offset);
      end = std::max(end, at->first);
    }
    ranges[end] = {begin, end - begin};
  }
  int64_t bytes = 0;
  for (const auto &[end, part] : ranges)
    bytes += (part.bytes + 15) / 16 * 16;
  if (bytes > range())
    return beyondRange(call, "memory", bytes);
  if (!copies || copies->size() < bytes + memorySlack) {
    HEDDLE_TRY(restart()); // recorded commands reference the buffer
    forgetBuffers();
    copies = HEDDLE_TRY(MemoryBuffer::create(device, std::min(2 * bytes, range()) + memorySlack,
                                             MemoryBuffer::Kind::Device));
  }
  int64_t place = 0;
  for (const auto &[end, part] : ranges) {
    if (part.bytes > 0)
      recorder->commands().copy(
          {memory->handle(), copies->handle(), part.offset, place, part.bytes});
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const LaunchAddress &argument = call.arguments[i];
      if (!argument.weight && argument.offset >= part.offset &&
          argument.offset + argument.bytes <= end)
        offsets[i] = place + argument.offset - part.offset;
    }
    place += (part.bytes + 15) / 16 * 16;
  }
  return Window{copies->handle(), 0, std::min(range(), copies->size())};
}

void VulkanDevice::putBack(const LaunchCall &call) {
  const std::vector<KernelArgument> &arguments = program.kernels[call.kernel].arguments;
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (const LaunchAddress &argument = call.arguments[i];
        (i < arguments.size() ? arguments[i].written : call.rounds) && argument.bytes > 0)
      recorder->commands().copy(
          {copies->handle(), memory->handle(), offsets[i], argument.offset, argument.bytes});
}

/// Offsets may wrap around: row 0 of a weight may be below the window that holds some of its rows.
Status VulkanDevice::pushArguments(const LaunchCall &call, const Window &memoryWindow,
                                   const Window &weightWindow, const WeightPart *part) {
  push.clear();
  for (int64_t scalar : call.scalars) {
    if (scalar < 0 || scalar > std::numeric_limits<int32_t>::max())
      return inputError("vulkan: expected sizes below 2^31, found " + std::to_string(scalar));
    push.push_back(static_cast<uint32_t>(scalar));
  }
  for (size_t i = 0; i < call.arguments.size(); ++i)
    push.push_back(static_cast<uint32_t>(
        (offsets[i] - (call.arguments[i].weight ? weightWindow : memoryWindow).offset) / 16));
  if (kernels.variant(call.kernel, call.fewRows)->gathers()) {
    const bool cut = part && part->rows > 0;
    push.push_back(cut ? static_cast<uint32_t>(part->firstRow) : 0);
    push.push_back(cut ? static_cast<uint32_t>(part->rows) : std::numeric_limits<int32_t>::max());
  }
  push.resize(push.size() + vulkanGridWords);
  return {};
}

/// Runs the recorded commands, so that none of them references a buffer or a block.
Status VulkanDevice::restart() {
  HEDDLE_TRY(recorder->run());
  blocks->clear();
  return {};
}

/// Moves all arguments except the grid's base from the push constants to a block and returns its
/// offset. Runs the recorded commands first if no block is free.
Expected<uint32_t> VulkanDevice::moveToBlock() {
  if (!blocks->hasRoom())
    HEDDLE_TRY(restart());
  std::span<const uint32_t> words(push.data(), push.size() - vulkanGridWords);
  uint32_t place = blocks->write(words);
  push.assign(vulkanGridWords, 0);
  return place;
}

/// The points of a launch that work on the rows of a window.
VulkanDevice::GridPart VulkanDevice::gridOf(const LaunchCall &call, const WeightPart *part) const {
  GridPart grid{{0, 0, 0}, call.grid};
  const VulkanVariant &variant = *kernels.variant(call.kernel, call.fewRows);
  const int axis = variant.windowAxis;
  if (!part || part->rows == 0 || axis < 0)
    return grid;
  const int64_t tile = variant.grid[axis].tile; // divides the first row (WeightPlacement)
  grid.first[axis] = part->firstRow / tile;
  grid.count[axis] = (part->rows + tile - 1) / tile;
  return grid;
}

/// Dispatches the grid, in pieces if an axis has more workgroups than the device allows.
void VulkanDevice::dispatchAll(const GridPart &grid) {
  int64_t limit = device.physical().limits().groupCount;
  uint32_t *base = &push[push.size() - vulkanGridWords];
  std::array<int64_t, 3> at = {};
  for (at[0] = 0; at[0] < grid.count[0]; at[0] += limit)
    for (at[1] = 0; at[1] < grid.count[1]; at[1] += limit)
      for (at[2] = 0; at[2] < grid.count[2]; at[2] += limit) {
        std::array<uint32_t, 3> groups;
        for (size_t axis = 0; axis < 3; ++axis) {
          base[axis] = static_cast<uint32_t>(grid.first[axis] + at[axis]);
          groups[2 - axis] = static_cast<uint32_t>(
              std::min(limit, grid.count[axis] - at[axis])); // (z, y, x) to (x, y, z)
        }
        recorder->commands().dispatch(kernels.layout(), push, groups);
      }
}

/// Some drivers, among them Mesa's on the processor, compile a pipeline at its first launch. A
/// launch without workgroups triggers this.
Status VulkanDevice::prepare(VkPipeline pipeline, VkDescriptorSet set, uint32_t block) {
  if (!prepared.insert(pipeline).second)
    return {};
  progress.begin();
  preparer->begin();
  preparer->commands().bind({pipeline, kernels.layout(), set, block}, {});
  preparer->commands().dispatch(kernels.layout(), push, {0, 0, 0});
  Status run = preparer->run();
  progress.end();
  return run;
}

/// Sets the accesses of a launch to planned memory or its copies. Kernels only read weights, and
/// what they read past the end of a buffer has no effect.
void VulkanDevice::placeAccesses(const LaunchCall &call, const Window &memoryWindow) {
  const std::vector<KernelArgument> &arguments = program.kernels[call.kernel].arguments;
  accesses.clear();
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (const LaunchAddress &argument = call.arguments[i]; !argument.weight)
      accesses.push_back({memoryWindow.buffer, offsets[i], argument.bytes,
                          i < arguments.size() && arguments[i].written});
}

Status VulkanDevice::bind(VkPipeline pipeline, VkDescriptorSet set) {
  uint32_t block = 0;
  if (takesArgumentBlock(push.size() - vulkanGridWords))
    block = HEDDLE_TRY(moveToBlock());
  HEDDLE_TRY(prepare(pipeline, set, block));
  recorder->commands().bind({pipeline, kernels.layout(), set, block}, accesses);
  return {};
}

/// The rounding reads no weights, so any window of them serves.
Status VulkanDevice::roundRows(const LaunchCall &call, const Window &memoryWindow) {
  if (!call.rounds)
    return {};
  const Window others = hasTwins || !weights
                            ? memoryWindow
                            : Window{weights->handle(), 0, std::min(range(), weights->size())};
  auto set = HEDDLE_TRY(descriptors->find(memoryWindow, others));
  HEDDLE_TRY(pushArguments(call, memoryWindow, others, nullptr));
  const size_t own = program.kernels[call.kernel].arguments.size();
  const auto rows = static_cast<size_t>(kernels.variant(call.kernel)->rounding->argument);
  accesses.clear();
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (i == rows || i >= own)
      accesses.push_back({memoryWindow.buffer, offsets[i], call.arguments[i].bytes, i >= own});
  HEDDLE_TRY(bind(kernels.roundingPipeline(call.kernel), set));
  dispatchAll({{0, 0, 0}, call.roundingGrid});
  return {};
}

Status VulkanDevice::launchOn(const LaunchCall &call, const Window &memoryWindow,
                              const Window &weightWindow, const WeightPart *part) {
  auto set = HEDDLE_TRY(descriptors->find(memoryWindow, weightWindow));
  HEDDLE_TRY(pushArguments(call, memoryWindow, weightWindow, part));
  placeAccesses(call, memoryWindow);
  HEDDLE_TRY(bind(kernels.pipeline(call.kernel, call.fewRows), set));
  dispatchAll(gridOf(call, part));
  return {};
}

Status VulkanDevice::launch(const LaunchCall &call, std::span<const LaunchCall> /*then*/) {
  const WindowedWeight *windowed = placeArguments(call);
  const Window window = HEDDLE_TRY(memoryWindow(call));
  HEDDLE_TRY(roundRows(call, window));
  if (!windowed) {
    // Live weights are in planned memory, where kernels read them by the binding of weights.
    std::optional<Window> all = hasTwins ? window : windowOf(call, true);
    if (!all)
      return beyondRange(call, "weights", weights->size());
    HEDDLE_TRY(launchOn(call, window, *all, nullptr));
  } else {
    for (const WeightPart &part : windowed->parts) {
      HEDDLE_TRY(enterWindow(call, *windowed, part));
      HEDDLE_TRY(launchOn(
          call, window,
          {weights->handle(), part.begin, std::min(range(), weights->size() - part.begin)}, &part));
    }
  }
  if (window.buffer != memory->handle())
    putBack(call);
  return {};
}

} // namespace heddle::vulkan
