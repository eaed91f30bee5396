//===- CpuCode.cpp - The CPU device -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPU device. Each step of a call runs at once: uploads and downloads are plain addresses, and a
// launch returns when its grid is done.
#include "heddle/Runtime/Cpu/CpuCode.h"

#include "DenormalGuard.h"
#include "LoadedObject.h"

#include "heddle/Support/Artifact.h"
#include "heddle/Support/CpuFeatures.h"
#include "heddle/Support/CpuRates.h"
#include "heddle/Support/Parallel.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace heddle {

namespace {

constexpr int64_t lineBytes = 64; // of a cache line

/// Entry point of a kernel: computes one point (g0, g1, g2) of its grid. The last argument is
/// followed by the address to prefetch for the next launch, or null.
using KernelFunction = void (*)(void *const *arguments, const int64_t *scalars, int64_t g0,
                                int64_t g1, int64_t g2);

/// The loaded object and the addresses of its kernels, shared by sessions.
class CpuCode final : public DeviceCode {
public:
  CpuCode(std::string isa, LoadedObject object, std::span<const std::byte> weights)
      : isa(std::move(isa)), object(std::move(object)), weights(weights) {}

  Status findKernels(const Program &program, const std::string &place) {
    for (const Kernel &kernel : program.kernels) {
      auto function = reinterpret_cast<KernelFunction>(object.find(kernel.name));
      if (!function && kernel.cpu)
        return inputError(place + ": expected a kernel " + kernel.name + " in cpu/" + isa +
                          ".so, found none");
      functions.push_back(function);
    }
    findPanels(program);
    return {};
  }

  Expected<std::unique_ptr<Device>> createDevice(int threads) const override;
  const KernelCode *codeOf(const Kernel &kernel) const override {
    return kernel.cpu ? &*kernel.cpu : nullptr;
  }
  std::string describe() const override { return "cpu " + isa; }

  KernelFunction function(int kernel) const { return functions[kernel]; }
  /// Arguments of a kernel that are weights in panels. Consecutive tiles of the grid's last axis
  /// read consecutive pieces of them, so the previous launch can prefetch.
  std::span<const size_t> panels(int kernel) const { return panelArguments[kernel]; }
  const std::byte *weight(int64_t offset) const { return weights.data() + offset; }

private:
  void findPanels(const Program &program);

  std::string isa;
  LoadedObject object;
  std::vector<KernelFunction> functions;
  std::vector<std::vector<size_t>> panelArguments; ///< by kernel
  std::span<const std::byte> weights;
};

void CpuCode::findPanels(const Program &program) {
  std::vector<bool> inPanels(program.weights.size());
  for (const PackEntry &entry : program.pack)
    if (entry.layout == PackEntry::Layout::Panels)
      inPanels[entry.weight] = true;
  panelArguments.resize(program.kernels.size());
  for (const Function &function : program.functions)
    for (const Launch &launch : function.launches) {
      auto kernel = std::ranges::find(program.kernels, launch.kernel, &Kernel::name);
      if (kernel == program.kernels.end())
        continue; // an error when a function launches it
      std::vector<size_t> &panels = panelArguments[kernel - program.kernels.begin()];
      panels.clear(); // equal for all launches of a kernel
      for (size_t i = 0; i < launch.arguments.size(); ++i)
        if (launch.arguments[i].kind == LaunchArgument::Kind::Weight &&
            inPanels[launch.arguments[i].index])
          panels.push_back(i);
    }
}

/// Planned memory and threads of one session.
class CpuDevice final : public Device {
public:
  CpuDevice(const CpuCode &code, int threads)
      : code(code), threads(threads > 0 ? threads : processorCount()) {}

  Status resize(int64_t bytes, int64_t keep) override {
    if (bytes <= size && memory.bytes().data())
      return {};
    if (keep == 0) // avoids holding the old and the new memory at once
      memory = {};
    if (!memory.grow(bytes + memorySlack))
      return inputError("cpu: expected " + std::to_string(bytes + memorySlack) +
                        " bytes of memory, found less");
    size = bytes;
    return {};
  }

  Status begin() override { return {}; }
  Expected<std::byte *> upload(MemoryRange range) override { return at(range.offset); }
  Status copy(int64_t from, int64_t to, int64_t bytes) override {
    std::memmove(at(to), at(from), static_cast<size_t>(bytes));
    return {};
  }
  Status fill(MemoryRange range, uint32_t pattern) override {
    auto *words = reinterpret_cast<uint32_t *>(at(range.offset));
    std::fill(words, words + range.bytes / 4, pattern);
    return {};
  }
  Status launch(const LaunchCall &call, std::span<const LaunchCall> then) override;
  Status download(MemoryRange) override { return {}; }
  Status finish() override { return {}; }
  std::span<const std::byte> downloaded(MemoryRange range) const override {
    return memory.bytes().subspan(static_cast<size_t>(range.offset),
                                  static_cast<size_t>(range.bytes));
  }

private:
  const LaunchCall *prefetched(const LaunchCall &call, std::span<const LaunchCall> then) const;
  const std::byte *beginning(const LaunchCall &call, int used, int thread);
  std::byte *addressOf(const LaunchAddress &argument) {
    return argument.weight ? const_cast<std::byte *>(code.weight(argument.offset))
                           : at(argument.offset);
  }
  void layArguments(const LaunchCall &call, const LaunchCall *next, int pieces);
  std::byte *at(int64_t offset) { return memory.writable().data() + offset; }

  const CpuCode &code;
  int threads;
  MappedBytes memory;
  int64_t size = 0;
  std::vector<void *> pointers; ///< see layArguments; kept between launches
};

/// Number of threads for a launch. Waking and joining a thread costs some microseconds, so each
/// thread gets work for longer than that.
int threadsFor(const LaunchCall &call, int most) {
  constexpr int64_t grain = 1'000'000; // about 20 microseconds of one core
  const int64_t worth = call.work > 0 ? 1 + call.work / grain : most;
  return static_cast<int>(std::min({int64_t{most}, worth, call.points(), mostThreads}));
}

/// The next launch that reads panels, if this kernel prefetches for it: only kernels with panels
/// do.
const LaunchCall *CpuDevice::prefetched(const LaunchCall &call,
                                        std::span<const LaunchCall> then) const {
  auto reads = [&](const LaunchCall &next) {
    return !code.panels(next.kernel).empty() && next.points() > 0;
  };
  auto next = code.panels(call.kernel).empty() ? then.end() : std::ranges::find_if(then, reads);
  return next == then.end() ? nullptr : &*next;
}

/// First address that thread `thread` of `used` reads in the panels of a launch. Assumes that tiles
/// divide the panels evenly; the error is the last tile's padding, harmless for a prefetch.
const std::byte *CpuDevice::beginning(const LaunchCall &call, int used, int thread) {
  const int64_t across = call.grid[2] > 1 ? call.grid[2] : call.grid[1];
  int64_t bytes = 0;
  for (size_t argument : code.panels(call.kernel))
    bytes += call.arguments[argument].bytes;
  int64_t at = bytes / across * (pieceEnd(call.points(), used, thread - 1) % across);
  for (size_t argument : code.panels(call.kernel)) {
    const LaunchAddress &panels = call.arguments[argument];
    if (at < panels.bytes)
      return addressOf(panels) + at / lineBytes * lineBytes;
    at -= panels.bytes;
  }
  return nullptr;
}

/// Writes rows of kernel arguments to `pointers`: row 0 for all points except the last one of each
/// thread, then a row for the last point of each of `pieces` threads. Each of these rows ends with
/// the address that the thread reads first in the launch `next`, which the kernel prefetches.
void CpuDevice::layArguments(const LaunchCall &call, const LaunchCall *next, int pieces) {
  const int usedNext = next ? threadsFor(*next, threads) : 0;
  pointers.clear();
  for (int thread = -1; thread < pieces; ++thread) {
    for (const LaunchAddress &argument : call.arguments)
      pointers.push_back(addressOf(argument));
    const bool reads = thread >= 0 && thread < usedNext;
    pointers.push_back(reads ? const_cast<std::byte *>(beginning(*next, usedNext, thread))
                             : nullptr);
  }
}

Status CpuDevice::launch(const LaunchCall &call, std::span<const LaunchCall> then) {
  const int64_t points = call.points();
  const int used = threadsFor(call, threads);
  const LaunchCall *next = prefetched(call, then);
  layArguments(call, next, next ? used : 0);
  KernelFunction function = code.function(call.kernel);
  const size_t row = call.arguments.size() + 1;
  const auto [n0, n1, n2] = call.grid;
  auto tile = [&, n1 = n1, n2 = n2](int64_t point, int) {
    const int64_t line = n2 == 1 ? point : point / n2;
    const int64_t first = line < n1 ? 0 : line / n1;
    const int owner = used == 1 ? 0 : pieceOf(points, used, point);
    const bool isLast = next && point + 1 == pieceEnd(points, used, owner);
    function(pointers.data() + (isLast ? row * static_cast<size_t>(owner + 1) : 0),
             call.scalars.data(), first, line - first * n1, point - line * n2);
  };
  auto guarded = [](FunctionRef<void()> run) {
    DenormalGuard guard; // the mode is a register of each thread
    run();
  };
  // One thread: a plain loop that inlines `tile`, since a tile of one row takes only 0.5 µs.
  if (used == 1)
    guarded([&] {
      for (int64_t point = 0; point < points; ++point)
        tile(point, 0);
    });
  else
    parallelFor(points, used, tile, guarded);
  return {};
}

Expected<std::unique_ptr<Device>> CpuCode::createDevice(int threads) const {
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(*this, threads));
}

bool has(const std::vector<std::string> &features, std::string_view name) {
  return std::find(features.begin(), features.end(), name) != features.end();
}

/// Whether code with these features relies on bf16 dot products that measured slow on this
/// processor. Code for a matrix unit of bf16 multiplies by the unit.
bool isSlowHere(const std::vector<std::string> &features) {
  return has(features, "avx512_bf16") && !has(features, "amx_bf16") && !cpuRates().dot2Pays();
}

/// Whether code with these features uses a matrix unit, the fastest way to multiply.
bool hasMatrices(const std::vector<std::string> &features) {
  return has(features, "amx_int8") || has(features, "amx_bf16");
}

/// The member with the most features that this processor can run. Members with a matrix unit are
/// preferred; a member that is slow here (isSlowHere) is the last resort. All members give equal
/// results, except one that multiplies bf16 by a matrix unit. Null if none can run.
const CpuMember *bestMember(const std::vector<CpuMember> &members) {
  auto rank = [](const CpuMember &member) {
    return std::tuple(!isSlowHere(member.features), hasMatrices(member.features),
                      member.features.size());
  };
  const CpuMember *best = nullptr;
  for (const CpuMember &member : members)
    if (missingCpuFeatures(member.features).empty() && (!best || rank(member) > rank(*best)))
      best = &member;
  return best;
}

std::string namesOfMembers(const Artifact &artifact) {
  return listText(artifact.cpu(), [](const CpuMember &member) { return member.isa; });
}

Error noMember(const Artifact &artifact) {
  return inputError(artifact.name() + ": cpu: expected code for " + cpuLevel() +
                    " or less, found " + namesOfMembers(artifact));
}

/// The member for instruction set `cpu`, which this processor must have, or the best member if
/// `cpu` is empty.
Expected<const CpuMember *> chosenMember(const Artifact &artifact, std::string_view cpu) {
  if (cpu.empty()) {
    if (const CpuMember *member = bestMember(artifact.cpu()))
      return member;
    return noMember(artifact);
  }
  for (const CpuMember &member : artifact.cpu()) {
    if (member.isa != cpu)
      continue;
    if (const auto missing = missingCpuFeatures(member.features); !missing.empty())
      return inputError(artifact.name() + ": cpu " + member.isa + ": expected a processor with " +
                        missing.front() + ", found one without it");
    return &member;
  }
  return usageError(artifact.name() + ": cpu: expected one of " + namesOfMembers(artifact) +
                    ", found " + quotedText(cpu));
}

} // namespace

Expected<std::unique_ptr<DeviceCode>> loadCpuCode(const Artifact &artifact, std::string_view cpu) {
  if (artifact.program().kernels.empty()) // without kernels any processor will do
    return std::unique_ptr<DeviceCode>(
        std::make_unique<CpuCode>("none", LoadedObject(), artifact.weights()));
  const CpuMember *member = HEDDLE_TRY(chosenMember(artifact, cpu));
  auto bytes = HEDDLE_TRY(artifact.code(*member));
  auto object =
      HEDDLE_TRY(LoadedObject::load(bytes, artifact.name() + ": cpu/" + member->isa + ".so"));
  auto code = std::make_unique<CpuCode>(member->isa, std::move(object), artifact.weights());
  HEDDLE_TRY(code->findKernels(artifact.program(), artifact.name()));
  return std::unique_ptr<DeviceCode>(std::move(code));
}

} // namespace heddle
