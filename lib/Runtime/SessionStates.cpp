//===- SessionStates.cpp - States and tables of a session --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Placement and growth of caches and tables, and the copies of cache rows when beam search reorders
// its hypotheses.
#include "Boundary.h"
#include "SessionImpl.h"

#include "heddle/Support/PositionTables.h"
#include "heddle/Support/Try.h"

#include <algorithm>

namespace heddle {

/// Placeholder for the spare row, whose offset is known only after all blocks are placed. Places in
/// the spare row are negative: -1 is its first byte, -2 its second.
static constexpr int64_t spareRow = -1;

/// Bytes of a buffer if dimension `dim` were 1 (one row) and the dimension that the function pads
/// were `padded`.
Expected<int64_t> Session::Impl::bytesOfOne(CallData &call, int buffer, const std::string &dim,
                                            std::optional<int64_t> padded) {
  for (const auto &[name, value] : call.inputs.dims())
    if (auto [known, isNew] = call.ofOne.try_emplace(name, value); !isNew)
      known->second = value;
  call.ofOne[dim] = 1;
  if (padded && !call.function.pads.empty())
    call.ofOne[call.function.pads] = *padded;
  auto elements = HEDDLE_TRY(call.function.buffers[buffer].elements.evaluate(call.ofOne));
  return elements * 4;
}

Status Session::Impl::placePersistent(CallData &call) {
  int64_t keep = memory.end();
  if (call.function.startsStates && !call.inputs.replaced()) {
    memory.forget(statePrefix);
    keep = std::min(keep, memory.end());
  }
  HEDDLE_TRY(placeStates(call));
  placeTables(call);
  call.staging = memory.end();
  call.scratch = placeStaged(call);
  return device->resize(call.scratch + std::max(call.plan->scratchBytes(), call.spareBytes), keep);
}

Status Session::Impl::placeStates(CallData &call) {
  if (const Tensor *rows = call.inputs.replaced())
    return stageStates(call, *rows);
  if (!call.function.reorderBy.empty())
    HEDDLE_TRY(readParents(call));
  for (size_t i = 0; i < call.function.states.size(); ++i) {
    const StateUse &use = call.function.states[i];
    HEDDLE_TRY(call.layout.movesRows[i] ? reorderState(call, i) : placeState(call, use));
  }
  return {};
}

Status Session::Impl::placeState(CallData &call, const StateUse &use) {
  const std::string &name = call.layout.blocks[use.buffer];
  int64_t bytes = call.plan->bufferBytes(use.buffer);
  if (const SessionMemory::Block *held = memory.find(name);
      held && held->live && held->bytes != bytes)
    HEDDLE_TRY(explainMismatch(call, use, held->bytes));
  const SessionMemory::Block &block = memory.require(name, bytes);
  call.places[use.buffer] = block.offset;
  // Nothing reads past the rows that sequences have, so a block with room for more is not
  // initialized.
  const bool isRead = call.function.buffers[use.buffer].rows == 0 || options.poison;
  if (!block.live)
    (isRead ? call.fresh : call.untouched).push_back(memory.numberOf(block));
  return {};
}

/// Explains why a live cache of `held` bytes does not fit this call. Error if the dimension of an
/// input differs from the caches'; success otherwise.
Status Session::Impl::explainMismatch(CallData &call, const StateUse &use, int64_t held) {
  const Buffer &buffer = call.function.buffers[use.buffer];
  std::vector<std::string> names;
  buffer.elements.collectDims(names);
  for (const std::string &name : names) {
    std::string place = call.inputs.binder(name);
    if (place.empty())
      continue;
    int64_t one = HEDDLE_TRY(bytesOfOne(call, use.buffer, name));
    int64_t found = call.inputs.dims().find(name)->second;
    if (one > 0 && held % one == 0 && held / one != found)
      return inputError(place + ": expected " + std::to_string(held / one) +
                        " as in the caches, found " + std::to_string(found));
  }
  return {};
}

Status Session::Impl::readParents(CallData &call) {
  if (call.layout.rowDim.empty())
    return inputError(call.function.name + ": expected an input " + call.function.reorderBy +
                      " with a named dimension, found none");
  const Tensor &tensor = call.inputs.tensor(call.layout.parents);
  for (int64_t row = 0; row < tensor.size(); ++row)
    call.parents.push_back(integerAt(tensor, row));
  call.reordered = call.reorder.plan(call.parents);
  call.reorderedFixed = call.reorderFixed.plan(origins.needed(call.parents));
  return {};
}

/// Plans the copies of a live state's rows. Rows without a parent become zero if a start sets the
/// whole state. Parents are checked here, since only the state knows its number of rows.
Status Session::Impl::reorderState(CallData &call, size_t state) {
  const StateUse &use = call.function.states[state];
  const std::string &name = call.layout.blocks[use.buffer];
  const SessionMemory::Block *held = memory.find(name);
  if (!held || !held->live)
    return placeState(call, use);
  auto one = HEDDLE_TRY(bytesOfOne(call, use.buffer, call.layout.rowDim));
  int64_t rows = one > 0 ? held->bytes / one : 0;
  for (size_t row = 0; row < call.parents.size(); ++row)
    if (call.parents[row] < -1 || (one > 0 && call.parents[row] >= rows))
      return inputError(call.function.reorderBy + ": expected values in [-1, " +
                        std::to_string(rows) + "), found " + std::to_string(call.parents[row]) +
                        " at [" + std::to_string(row) + "]");
  const Filled filled = filledOf(call.function.buffers[use.buffer], one);
  const SessionMemory::Block &block =
      memory.require(name, call.plan->bufferBytes(use.buffer), filled);
  call.places[use.buffer] = block.offset;
  call.spareBytes = std::max(call.spareBytes, one);
  auto place = [&](int64_t row, int64_t at) {
    return row < 0 ? spareRow - at : block.offset + row * one + at;
  };
  for (const RowMove &move : call.layout.isFixed[state] ? call.reorderedFixed : call.reordered)
    for (int64_t at = 0; at < one; at += filled.stride)
      call.rowMoves.push_back({place(move.from, at), place(move.to, at), filled.bytes});
  for (size_t row = 0; row < call.parents.size() && call.layout.isSet[state]; ++row)
    if (call.parents[row] < 0)
      call.emptied.push_back({block.offset + static_cast<int64_t>(row) * one, one});
  return {};
}

/// The part of each matrix of a state that sequences fill, where a sequence has `one` bytes. Rows
/// are contiguous; keys are stored in panels of 16.
Filled Session::Impl::filledOf(const Buffer &state, int64_t one) const {
  const std::optional<int64_t> most = rows.most();
  const int64_t stride = one / state.matrices;
  if (!most || state.rows == 0 || one % state.matrices != 0 || stride % state.rows != 0)
    return {one, one};
  const int64_t used = std::min(state.rows, padded(*most));
  return {stride / state.rows * used, stride};
}

/// Buffers of one function may share a table with different numbers of rows, so places are known
/// after all tables have grown.
void Session::Impl::placeTables(CallData &call) {
  const std::vector<Buffer> &buffers = call.function.buffers;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].kind == Buffer::Kind::Table)
      growTable(call, call.layout.blocks[i], call.plan->bufferBytes(static_cast<int>(i)));
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].kind == Buffer::Kind::Table)
      call.places[i] = memory.find(call.layout.blocks[i])->offset;
}

void Session::Impl::growTable(CallData &call, const std::string &name, int64_t bytes) {
  const SessionMemory::Block *held = memory.find(name);
  if (held && held->live && held->bytes >= bytes)
    return;
  memory.setLive(name, false); // filled again, so a move need not copy
  SessionMemory::Block &block = memory.require(name, bytes);
  block.bytes = block.capacity; // fill all of it, for longer sequences later
  if (std::ranges::find(call.fresh, memory.numberOf(block)) == call.fresh.end())
    call.fresh.push_back(memory.numberOf(block));
}

/// Moves blocks and rows, clears rows and new states, fills new tables.
Status Session::Impl::prepareStates(CallData &call) {
  auto spare = [&](int64_t place) { return place < 0 ? call.scratch + spareRow - place : place; };
  const std::vector<Move> blocks = memory.takeMoves();
  for (const std::vector<Move> *moves : {&blocks, &std::as_const(call.rowMoves)})
    for (const Move &move : *moves)
      if (move.bytes > 0)
        HEDDLE_TRY(device->copy(spare(move.from), spare(move.to), move.bytes));
  for (const MemoryRange &range : call.emptied)
    if (range.bytes > 0)
      HEDDLE_TRY(device->fill(range, 0));
  for (size_t number : call.fresh)
    if (memory[number].bytes > 0)
      HEDDLE_TRY(makeFresh(memory[number]));
  return {};
}

Status Session::Impl::makeFresh(const SessionMemory::Block &block) {
  constexpr uint32_t nanBits = 0x7fc00000;
  MemoryRange range{block.offset, block.bytes};
  if (block.name.starts_with(statePrefix))
    return device->fill(range, options.poison ? nanBits : 0);
  auto to = HEDDLE_TRY(device->upload(range));
  return fillTable(block.name.substr(tablePrefix.size()),
                   {reinterpret_cast<float *>(to), static_cast<size_t>(block.bytes / 4)});
}

/// Forgets sizes that no starting function sets, such as the batch of a decoder-only model: the
/// next call sets them.
void Session::Impl::forgetSizes() {
  std::erase_if(sessionDims, [&](const auto &dim) {
    return std::ranges::none_of(model->program().functions, [&](const Function &function) {
      return function.startsStates &&
             std::ranges::any_of(function.updates,
                                 [&](const auto &update) { return update.first == dim.first; });
    });
  });
}

void Session::Impl::finishStates(const CallData &call) {
  for (const std::vector<size_t> *numbers : {&call.fresh, &call.untouched})
    for (size_t number : *numbers)
      memory[number].live = true;
  if (!call.function.reorderBy.empty()) {
    rows.permute(call.parents);
    origins.permute(call.parents);
  }
  rows.commit();
  if (call.inputs.replaced()) {
    rows.empty(call.replaced);
    origins.renew(call.replaced);
    if (!call.function.pads.empty())
      sessionDims[call.function.pads] = call.nextLength;
    return;
  }
  if (call.function.startsStates) {
    origins.clear();
    forgetSizes();
  }
  for (size_t i = 0; i < call.function.updates.size(); ++i)
    sessionDims[call.function.updates[i].first] = call.plan->value(call.layout.updates[i]);
  if (const std::string &length = call.function.appendsTo; !length.empty())
    sessionDims[length] = call.inputs.dims().find(length)->second;
}

} // namespace heddle
