//===- Contender.cpp - A timed kernel -------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A minimal session: every buffer has its own memory, and sizes are evaluated once.
#include "Contender.h"

#include "bench/Bench.h"

#include "heddle/Compiler/Compiler.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace heddle::bench {

static Error benchError(std::string message) { return inputError("bench: " + std::move(message)); }

//===- Placing -----------------------------------------------------------===//

Contender::Contender(Artifact artifact)
    : artifact(std::make_unique<Artifact>(std::move(artifact))) {}

Expected<Contender> Contender::create(Artifact artifact, const std::string &device, int threads,
                                      const Dimensions &dims, const Inputs &inputs) {
  Contender made(std::move(artifact));
  if (made.artifact->program().functions.size() != 1 || made.function().outputs.size() != 1)
    return benchError("expected a program of one function with one output");
  made.code = HEDDLE_TRY(loadCode(*made.artifact, device));
  made.device = HEDDLE_TRY(made.code->createDevice(threads));
  HEDDLE_TRY(made.placeBuffers(dims));
  for (const Launch &launch : made.function().launches)
    HEDDLE_TRY(made.addStep(launch, dims));
  HEDDLE_TRY(made.upload(inputs));
  return made;
}

Status Contender::placeBuffers(const Dimensions &dims) {
  int64_t end = 0;
  for (const Buffer &buffer : function().buffers) {
    auto elements = HEDDLE_TRY(buffer.elements.evaluate(dims));
    if (buffer.kind == Buffer::Kind::State || buffer.kind == Buffer::Kind::Table)
      return benchError(buffer.name + ": expected neither states nor tables");
    buffers.push_back({end, elements * 4});
    end += aligned(elements * 4);
  }
  return device->resize(end, 0);
}

Expected<LaunchAddress> Contender::addressOf(const LaunchArgument &argument,
                                             const Dimensions &dims) const {
  auto offset = HEDDLE_TRY(argument.offset.evaluate(dims));
  auto index = static_cast<size_t>(argument.index);
  if (argument.kind == LaunchArgument::Kind::Weight) {
    const heddle::Weight &weight = artifact->program().weights[index];
    return LaunchAddress{true, weight.offset + offset * 4, (weight.elements - offset) * 4};
  }
  return LaunchAddress{false, buffers[index].offset + offset * 4,
                       buffers[index].bytes - offset * 4};
}

Status Contender::addStep(const Launch &launch, const Dimensions &dims) {
  const std::vector<Kernel> &kernels = artifact->program().kernels;
  auto kernel = std::ranges::find(kernels, launch.kernel, &Kernel::name);
  if (kernel == kernels.end() || !code->codeOf(*kernel))
    return benchError(launch.kernel + ": expected a kernel for this device");
  Step step{static_cast<int>(kernel - kernels.begin())};
  for (const LaunchArgument &argument : launch.arguments) {
    auto address = HEDDLE_TRY(addressOf(argument, dims));
    step.arguments.push_back(address);
  }
  for (const SizeExpr &scalar : launch.scalars) {
    auto value = HEDDLE_TRY(scalar.evaluate(dims));
    step.scalars.push_back(value);
  }
  for (size_t axis = 0; axis < step.grid.size(); ++axis) {
    const GridAxis &grid = code->codeOf(*kernel)->grid[axis];
    step.grid[axis] =
        grid.scalar < 0
            ? grid.count
            : (step.scalars[static_cast<size_t>(grid.scalar)] + grid.tile - 1) / grid.tile;
  }
  steps.push_back(std::move(step));
  return {};
}

Status Contender::upload(const Inputs &inputs) {
  HEDDLE_TRY(device->begin());
  for (const Port &port : function().inputs) {
    auto values = inputs.find(port.name);
    MemoryRange range = buffers[static_cast<size_t>(port.buffer)];
    if (values == inputs.end() || static_cast<int64_t>(values->second.size() * 4) != range.bytes)
      return benchError(port.name + ": expected " + std::to_string(range.bytes) + " bytes");
    auto to = HEDDLE_TRY(device->upload(range));
    std::memcpy(to, values->second.data(), static_cast<size_t>(range.bytes));
  }
  return device->finish();
}

//===- Running -----------------------------------------------------------===//

Expected<Values> Contender::run() {
  Status status = device->begin();
  for (const Step &step : steps)
    if (status)
      status = device->launch(step.call(), {});
  MemoryRange range = buffers[static_cast<size_t>(function().outputs.front().buffer)];
  if (status)
    status = device->download(range);
  if (status)
    status = device->finish();
  if (!status)
    return status.takeError();
  Values values(static_cast<size_t>(range.bytes / 4));
  std::memcpy(values.data(), device->downloaded(range).data(), static_cast<size_t>(range.bytes));
  return values;
}

Expected<Duration> Contender::time(int repeat) {
  // timeLaunch runs one warm-up round and one timed round, so half of the processor time is the
  // timed round.
  std::clock_t start = std::clock();
  auto wall = timeLaunch(*device, steps.back().call(), /*rounds=*/1, repeat);
  double passed = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (!wall)
    return wall.takeError();
  return Duration{*wall, passed / (2 * repeat)};
}

//===- Artifacts ---------------------------------------------------------===//

/// Writes a checkpoint: the length of a JSON header, the header, the values.
static bool writeSafetensors(const std::string &path,
                             const std::vector<CheckpointTensor> &tensors) {
  nlohmann::ordered_json header;
  size_t end = 0;
  for (const CheckpointTensor &tensor : tensors) {
    size_t begin = end;
    end += tensor.values.size() * 4;
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t length = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&length), sizeof length);
  file << text;
  for (const CheckpointTensor &tensor : tensors)
    file.write(reinterpret_cast<const char *>(tensor.values.data()),
               static_cast<std::streamsize>(tensor.values.size() * 4));
  return static_cast<bool>(file.flush());
}

Expected<Artifact> compileKernel(const std::string &model, const std::string &target,
                                 const std::vector<CheckpointTensor> &weights) {
  CompileOptions options;
  options.targets = {target};
  options.cpus = {"native"};
  std::filesystem::path checkpoint = std::filesystem::temp_directory_path() /
                                     ("heddle-bench-" + std::to_string(getpid()) + ".safetensors");
  if (!weights.empty()) {
    options.weights = checkpoint.string();
    if (!writeSafetensors(options.weights, weights))
      return benchError(options.weights + ": cannot be written");
  }
  Expected<Artifact> artifact = compileToMemory(model, options);
  std::error_code ignored; // it may not exist
  std::filesystem::remove(checkpoint, ignored);
  return artifact;
}

static std::vector<uint32_t> readWords(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

Expected<Artifact> packWitness(Witness witness) {
  std::vector<uint32_t> words = readWords(witness.module);
  if (words.empty())
    return benchError(witness.module + ": cannot be read");
  Program program;
  program.kernels = {std::move(witness.kernel)};
  program.functions = {std::move(witness.function)};
  program.weights = std::move(witness.weights);
  program.weightBytes = static_cast<int64_t>(witness.weightValues.size() * 4);
  program.model = "{}";
  std::string member = program.kernels.front().vulkan.front().member;
  ArtifactWriter writer(std::move(program));
  writer.addVulkan(member, std::move(words));
  return writer.build("witness", [&](std::span<std::byte> to) {
    std::ranges::copy(std::as_bytes(std::span(witness.weightValues)), to.begin());
    return Status();
  });
}

} // namespace heddle::bench
