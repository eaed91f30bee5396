//===- SessionStates.cpp - What a session keeps between calls ----*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Caches and tables: their places, their growth, and rows that change places
// when hypotheses are reordered.
//
//===----------------------------------------------------------------------===//
#include "Boundary.h"
#include "SessionImpl.h"

#include "heddle/Support/Sinusoids.h"

#include <algorithm>

namespace heddle {

static const std::string statePrefix = "state:", tablePrefix = "table:";
/// Place of the spare row, known only when all blocks have theirs.
static constexpr int64_t spareRow = -1;

static bool mentions(const SizeExpr &formula, std::string_view dim) {
  std::vector<std::string> names;
  formula.collectDims(names);
  return std::find(names.begin(), names.end(), dim) != names.end();
}

/// Bytes of a buffer where dimension `dim` is 1.
static Expected<int64_t> bytesOfOne(const Buffer &buffer, const std::string &dim, Dimensions dims) {
  dims[dim] = 1;
  Expected<int64_t> elements = buffer.elements.evaluate(dims);
  if (!elements)
    return elements.takeError();
  return *elements * 4;
}

Status Session::Impl::placePersistent(Call &call) {
  int64_t keep = memory.end();
  if (call.function.startsStates) {
    memory.forget(statePrefix);
    keep = std::min(keep, memory.end());
  }
  call.places.assign(call.function.buffers.size(), 0);
  if (Status status = placeStates(call); !status)
    return status;
  for (size_t i = 0; i < call.function.buffers.size(); ++i)
    if (call.function.buffers[i].kind == Buffer::Kind::Table)
      if (Status status = placeTable(call, i); !status)
        return status;
  call.scratch = memory.end();
  return device->resize(call.scratch + std::max(call.plan.scratchBytes(), call.spareBytes), keep);
}

Status Session::Impl::placeStates(Call &call) {
  std::string rowDim;
  if (!call.function.reorderBy.empty()) {
    if (Status status = readParents(call, rowDim); !status)
      return status;
  }
  for (const StateUse &use : call.function.states) {
    const Buffer &buffer = call.function.buffers[static_cast<size_t>(use.buffer)];
    bool moves = !rowDim.empty() && mentions(buffer.elements, rowDim);
    if (Status status = moves ? reorderState(call, use, rowDim) : placeState(call, use); !status)
      return status;
  }
  return {};
}

Status Session::Impl::placeState(Call &call, const StateUse &use) {
  std::string name = statePrefix + use.name;
  int64_t bytes = call.plan.bufferBytes(use.buffer);
  if (const SessionMemory::Block *held = memory.find(name);
      held && held->live && held->bytes != bytes)
    if (Status status = explainMismatch(call, use, held->bytes); !status)
      return status;
  const SessionMemory::Block &block = memory.require(name, bytes);
  call.places[static_cast<size_t>(use.buffer)] = block.offset;
  if (!block.live)
    call.fresh.push_back(block);
  return {};
}

/// A live cache has another size than this call needs: an error if an input's dimension is to
/// blame.
Status Session::Impl::explainMismatch(const Call &call, const StateUse &use, int64_t held) const {
  const Buffer &buffer = call.function.buffers[static_cast<size_t>(use.buffer)];
  std::vector<std::string> names;
  buffer.elements.collectDims(names);
  for (const std::string &name : names) {
    std::string place = call.inputs.binder(name);
    if (place.empty())
      continue;
    Expected<int64_t> one = bytesOfOne(buffer, name, call.inputs.dims());
    if (!one)
      return one.takeError();
    int64_t found = call.inputs.dims().find(name)->second;
    if (*one > 0 && held % *one == 0 && held / *one != found)
      return inputError(place + ": expected " + std::to_string(held / *one) +
                        " as in the caches, found " + std::to_string(found));
  }
  return {};
}

Status Session::Impl::readParents(Call &call, std::string &rowDim) {
  for (size_t i = 0; i < call.function.inputs.size(); ++i) {
    const Port &port = call.function.inputs[i];
    if (port.name != call.function.reorderBy)
      continue;
    const Tensor &tensor = call.inputs.tensor(i);
    for (int64_t row = 0; row < tensor.size(); ++row)
      call.parents.push_back(integerAt(tensor, row));
    rowDim = port.shape.empty() ? "" : port.shape[0].dimName();
    if (!rowDim.empty())
      return {};
  }
  return inputError(call.function.name + ": expected an input " + call.function.reorderBy +
                    " with a named dimension, found none");
}

Status Session::Impl::reorderState(Call &call, const StateUse &use, const std::string &rowDim) {
  std::string name = statePrefix + use.name;
  const SessionMemory::Block *held = memory.find(name);
  if (!held || !held->live)
    return placeState(call, use);
  auto one = bytesOfOne(call.function.buffers[static_cast<size_t>(use.buffer)], rowDim,
                        call.inputs.dims());
  if (!one)
    return one.takeError();
  int64_t rows = *one > 0 ? held->bytes / *one : 0;
  for (size_t row = 0; row < call.parents.size(); ++row)
    if (call.parents[row] < 0 || (*one > 0 && call.parents[row] >= rows))
      return inputError(call.function.reorderBy + ": expected values in [0, " +
                        std::to_string(rows) + "), found " + std::to_string(call.parents[row]) +
                        " at [" + std::to_string(row) + "]");
  const SessionMemory::Block &block = memory.require(name, call.plan.bufferBytes(use.buffer));
  call.places[static_cast<size_t>(use.buffer)] = block.offset;
  call.spareBytes = std::max(call.spareBytes, *one);
  auto place = [&](int64_t row) { return row < 0 ? spareRow : block.offset + row * *one; };
  for (const RowMove &move : planRowMoves(call.parents))
    call.rowMoves.push_back({place(move.from), place(move.to), *one});
  return {};
}

Status Session::Impl::placeTable(Call &call, size_t buffer) {
  std::string name = tablePrefix + call.function.buffers[buffer].generator;
  int64_t bytes = call.plan.bufferBytes(static_cast<int>(buffer));
  const SessionMemory::Block *held = memory.find(name);
  if (!held || !held->live || held->bytes < bytes) {
    memory.setLive(name, false); // made anew, so nothing to keep
    SessionMemory::Block &block = memory.require(name, bytes);
    block.bytes = block.capacity; // all of it is filled: the next rows come for free
    call.fresh.push_back(block);
  }
  call.places[buffer] = memory.find(name)->offset;
  return {};
}

/// Moves blocks and rows, empties new states, fills new tables.
Status Session::Impl::prepareStates(Call &call) {
  auto spare = [&](int64_t place) { return place == spareRow ? call.scratch : place; };
  std::vector<Move> moves = memory.takeMoves();
  moves.insert(moves.end(), call.rowMoves.begin(), call.rowMoves.end());
  for (const Move &move : moves)
    if (move.bytes > 0)
      if (Status status = device->copy(spare(move.from), spare(move.to), move.bytes); !status)
        return status;
  for (const SessionMemory::Block &block : call.fresh)
    if (block.bytes > 0)
      if (Status status = makeFresh(block); !status)
        return status;
  return {};
}

Status Session::Impl::makeFresh(const SessionMemory::Block &block) {
  constexpr uint32_t nanBits = 0x7fc00000;
  MemoryRange range{block.offset, block.bytes};
  if (block.name.starts_with(statePrefix))
    return device->fill(range, options.poison ? nanBits : 0);
  auto columns = sinusoidalColumns(block.name.substr(tablePrefix.size()));
  if (!columns)
    return columns.takeError();
  auto to = device->upload(range);
  if (!to)
    return to.takeError();
  fillSinusoidal(*columns, {reinterpret_cast<float *>(*to), static_cast<size_t>(block.bytes / 4)});
  return {};
}

void Session::Impl::finishStates(const Call &call) {
  for (const SessionMemory::Block &block : call.fresh)
    memory.setLive(block.name, true);
  if (!call.function.reorderBy.empty())
    running.permute(call.parents);
  running.commit();
  for (size_t i = 0; i < call.function.updates.size(); ++i)
    sessionDims[call.function.updates[i].first] = call.plan.value(call.layout.updates[i]);
}

} // namespace heddle
