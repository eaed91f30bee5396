//===- SessionTwins.cpp - Weights that change, and their twins --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Twins of a session that trains: copies of the member `weights.bin`, their gradients and the
// moments of the optimizer. They are at the front of planned memory and never move.
#include "SessionImpl.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <cstring>

namespace heddle {

const Session::Impl::Twin *Session::Impl::findTwin(std::string_view name) const {
  auto found = std::ranges::find(twins, name, &Twin::name);
  return found == twins.end() ? nullptr : &*found;
}

/// Creates the twins that functions of the program use. The live weights are created if any other
/// is. Weights begin as in the artifact, all else as zeros.
Status Session::Impl::createTwins() {
  int64_t end = 0;
  auto add = [&](const std::string &name, int64_t bytes) {
    if (findTwin(name))
      return;
    twins.push_back({name, {end, bytes}});
    end += aligned(bytes);
  };
  const Program &program = model->program();
  for (const Function &function : program.functions)
    for (const Buffer &buffer : function.buffers)
      if (buffer.kind == Buffer::Kind::Twin) {
        add(std::string(weightTwin), program.weightBytes);
        add(buffer.name, buffer.elements.constantValue() * 4);
      }
  if (twins.empty())
    return {};
  memory.reserve(end);
  HEDDLE_TRY(device->resize(end, 0));
  HEDDLE_TRY(device->begin());
  for (const Twin &twin : twins)
    if (twin.range.bytes > 0)
      HEDDLE_TRY(device->fill(twin.range, 0));
  HEDDLE_TRY(device->finish());
  std::span<const std::byte> stored = model->artifact.weights();
  return write(twins.front().range, stored.first(static_cast<size_t>(program.weightBytes)));
}

Status Session::Impl::read(MemoryRange range, std::span<std::byte> to) {
  if (range.bytes == 0)
    return {};
  HEDDLE_TRY(device->begin());
  HEDDLE_TRY(device->download(range));
  HEDDLE_TRY(device->finish());
  std::memcpy(to.data(), device->downloaded(range).data(), static_cast<size_t>(range.bytes));
  return {};
}

Status Session::Impl::write(MemoryRange range, std::span<const std::byte> from) {
  if (range.bytes == 0)
    return {};
  HEDDLE_TRY(device->begin());
  std::byte *to = HEDDLE_TRY(device->upload(range));
  std::memcpy(to, from.data(), static_cast<size_t>(range.bytes));
  return device->finish();
}

int64_t Session::twinBytes(std::string_view name) const {
  const Impl::Twin *twin = impl->findTwin(name);
  return twin ? twin->range.bytes : 0;
}

/// The bytes of a twin that a caller names by an offset and a number.
static Expected<MemoryRange> partOf(std::string_view name, const MemoryRange *twin, int64_t offset,
                                    size_t bytes) {
  const auto count = static_cast<int64_t>(bytes);
  if (!twin)
    return inputError("expected a model that was compiled with --training, found one without " +
                      std::string(name));
  if (offset < 0 || offset % 16 != 0 || offset > twin->bytes || count > twin->bytes - offset)
    return inputError(std::string(name) + ": expected a part of " + std::to_string(twin->bytes) +
                      " bytes, found " + std::to_string(count) + " bytes from " +
                      std::to_string(offset));
  return MemoryRange{twin->offset + offset, count};
}

Status Session::readTwin(std::string_view name, int64_t offset, std::span<std::byte> to) {
  const Impl::Twin *twin = impl->findTwin(name);
  return impl->read(HEDDLE_TRY(partOf(name, twin ? &twin->range : nullptr, offset, to.size())), to);
}

Status Session::writeTwin(std::string_view name, int64_t offset, std::span<const std::byte> from) {
  const Impl::Twin *twin = impl->findTwin(name);
  return impl->write(HEDDLE_TRY(partOf(name, twin ? &twin->range : nullptr, offset, from.size())),
                     from);
}

} // namespace heddle
