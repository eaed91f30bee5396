//===- SessionReplace.cpp - Replacement of rows in a session --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts that replace some rows of a session (Function::replaceBy). The call runs like one of a
// separate batch, whose states follow the session's blocks. After it has run, its sequences are
// copied to their rows. If a sequence is shorter than the session's states, the rest of the row
// stays as it is: nothing reads past a sequence's length. If it is longer, the matrices of all rows
// are moved apart first.
#include "SessionImpl.h"

#include "heddle/Support/Try.h"

#include <algorithm>

namespace heddle {

/// Reads the rows of the session that the call replaces. Each must exist and be named once.
Status Session::Impl::readReplaced(CallData &call, const Tensor &rows) {
  const Function &function = call.function;
  auto port = std::ranges::find(function.inputs, function.replaceBy, &Port::name);
  call.rowDim = &call.layout.inputs[port - function.inputs.begin()].dims[0];
  auto held = sessionDims.find(*call.rowDim);
  if (held == sessionDims.end())
    return inputError(function.name + ": expected a call of " + function.name + " without " +
                      function.replaceBy + " before it, found none");
  call.heldRows = held->second;
  for (int64_t i = 0; i < rows.size(); ++i) {
    const int64_t row = integerAt(rows, i);
    const std::string place = " at [" + std::to_string(i) + "]";
    if (row < 0 || row >= call.heldRows)
      return inputError(function.replaceBy + ": expected values in [0, " +
                        std::to_string(call.heldRows) + "), found " + std::to_string(row) + place);
    if (std::ranges::find(call.replaced, row) != call.replaced.end())
      return inputError(function.replaceBy + ": expected each row once, found " +
                        std::to_string(row) + " again" + place);
    call.replaced.push_back(row);
  }
  return {};
}

/// Checks that sizes other than the number of rows and the padded one equal the session's.
Status Session::Impl::checkReplaced(CallData &call) {
  for (size_t i = 0; i < call.function.updates.size(); ++i) {
    const auto &[name, formula] = call.function.updates[i];
    auto held = sessionDims.find(name);
    if (formula.isConstant() || name == *call.rowDim || held == sessionDims.end())
      continue;
    const int64_t found = call.plan->value(call.layout.updates[i]);
    if (name == call.function.pads) {
      call.heldLength = held->second;
      call.nextLength = std::max(held->second, found);
    } else if (found != held->second) {
      const std::string place = call.inputs.binder(name);
      return inputError((place.empty() ? call.function.name + ": " + name : place) + ": expected " +
                        std::to_string(held->second) + " as in the caches, found " +
                        std::to_string(found));
    }
  }
  return {};
}

Status Session::Impl::stageStates(CallData &call, const Tensor &rows) {
  HEDDLE_TRY(readReplaced(call, rows));
  HEDDLE_TRY(checkReplaced(call));
  const auto count = static_cast<int64_t>(call.replaced.size());
  for (const StateUse &use : call.function.states) {
    const std::string &name = call.layout.blocks[use.buffer];
    const int64_t matrices = call.function.buffers[use.buffer].matrices;
    StagedState &state = call.staged.emplace_back();
    state.buffer = use.buffer;
    state.matrices = matrices;
    auto bytesAt = [&](int64_t length) {
      return bytesOfOne(call, use.buffer, *call.rowDim, length);
    };
    state.held = HEDDLE_TRY(bytesAt(call.heldLength)) / matrices;
    state.next = HEDDLE_TRY(bytesAt(call.nextLength)) / matrices;
    state.own = count > 0 ? call.plan->bufferBytes(use.buffer) / count / matrices : 0;
    const SessionMemory::Block *block = memory.find(name);
    if (!block || !block->live || block->bytes != call.heldRows * matrices * state.held)
      return inputError(call.function.name + ": expected the state " + use.name +
                        " from a start of all rows, found none");
  }
  for (const StagedState &state : call.staged) {
    const int64_t wanted = call.heldRows * state.matrices * state.next;
    memory.require(call.layout.blocks[state.buffer], wanted);
    if (state.next != state.held)
      call.spareBytes = std::max(call.spareBytes, call.heldRows * state.matrices * state.held);
  }
  return {};
}

/// Places the states of the call after all blocks; returns their end.
int64_t Session::Impl::placeStaged(CallData &call) {
  int64_t end = memory.end();
  for (const StagedState &state : call.staged) {
    call.places[state.buffer] = end;
    end += aligned(call.plan->bufferBytes(state.buffer));
  }
  return end;
}

/// Moves the matrices of a state apart, through scratch memory.
Status Session::Impl::widen(CallData &call, const StagedState &state, int64_t offset) {
  const int64_t count = call.heldRows * state.matrices;
  if (count == 0 || state.held == 0)
    return {};
  HEDDLE_TRY(device->copy(offset, call.scratch, count * state.held));
  for (int64_t i = 0; i < count; ++i)
    HEDDLE_TRY(device->copy(call.scratch + i * state.held, offset + i * state.next, state.held));
  return {};
}

/// Copies the sequences of the call to their rows.
Status Session::Impl::replaceRows(CallData &call) {
  HEDDLE_TRY(device->begin());
  for (const StagedState &state : call.staged) {
    const int64_t offset = memory.find(call.layout.blocks[state.buffer])->offset,
                  from = call.places[state.buffer];
    if (state.next != state.held)
      HEDDLE_TRY(widen(call, state, offset));
    // Matrices of equal size are contiguous in both states, so that a row is one copy.
    const int64_t pieces = state.own == state.next ? 1 : state.matrices,
                  bytes = state.own * (state.matrices / pieces);
    for (size_t i = 0; i < call.replaced.size() && bytes > 0; ++i)
      for (int64_t piece = 0; piece < pieces; ++piece)
        HEDDLE_TRY(device->copy(
            from + static_cast<int64_t>(i) * state.matrices * state.own + piece * state.own,
            offset + call.replaced[i] * state.matrices * state.next + piece * state.next, bytes));
  }
  return device->finish();
}

} // namespace heddle
