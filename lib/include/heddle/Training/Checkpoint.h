//===- Checkpoint.h - Weights and the state of a run -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Safetensors files of a run. One has the weights alone; every command and Transformers read it.
// The other has the weights, their moments and the state; a run is resumed from it. A file replaces
// the one before it when it is complete and on the disk, so a crash, a full disk and a killed
// process leave the old one.
#pragma once

#include "heddle/Training/TrainingSession.h"

#include <functional>
#include <span>

namespace heddle {

/// A hash as text of 16 digits.
std::string hashText(uint64_t hash);
/// FNV-1a of bytes.
uint64_t hashOfBytes(std::string_view bytes);

/// Returns an error that names the first difference between a checkpoint and the run that resumes
/// it. Keys without influence on weights may differ: `keep`, `measure`, and the length of a
/// run whose rate does not depend on it. Errors begin with `place`.
Status checkSameRun(const RunState &checkpoint, const RunIdentity &run, const std::string &place);

/// Reads or writes elements of tensor `tensor` (an index) from `first` on. Moment 0 is the weight.
using ReadElements =
    std::function<Status(int moment, size_t tensor, int64_t first, std::span<float> out)>;
using WriteElements =
    std::function<Status(int moment, size_t tensor, int64_t first, std::span<const float> in)>;

/// Writes the weights alone.
Status saveWeights(const std::string &path, std::span<const NamedShape> tensors,
                   const ReadElements &read);
/// Writes the weights, `moments` moments of each as `moment.1.NAME` and `moment.2.NAME`, and the
/// state.
Status saveRun(const std::string &path, const RunState &state, std::span<const NamedShape> tensors,
               int moments, const ReadElements &read);

/// The state in a checkpoint. Returns an error for a file without one.
Expected<RunState> readRunState(const std::string &path);
/// Passes the tensors of a checkpoint to `write`. Returns an error for a tensor that is missing or
/// has another shape.
Status loadRun(const std::string &path, std::span<const NamedShape> tensors, int moments,
               const WriteElements &write);

} // namespace heddle
