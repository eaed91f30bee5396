//===- ReferenceSession.h - Reference inputs and states --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sessions of the reference interpreter: states that outlive a call, the changes by a call, and
// checks and defaults of a call's inputs.
#pragma once

#include "ReferenceOps.h"

#include <map>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace heddle::reference {

/// States of a session between calls.
struct SessionState {
  std::map<std::string, Ref> states;
  std::map<std::string, int64_t> lengths;      ///< lengths of caches, by dimension
  std::map<std::string, std::string> lengthOf; ///< dimension of a cache, by state
  /// Number of rows of each sequence, by dimension, for caches that count rows per sequence.
  std::map<std::string, std::vector<int64_t>> rows;
  /// Accumulators of the gradients of weights, by name and number of the use.
  std::map<std::string, std::map<uint64_t, RefTensor>> gradients;
};

/// States during one call. The session changes only on commit.
class StateChanges {
public:
  explicit StateChanges(const SessionState &session) : before(session), after(session) {}

  Expected<Ref> get(transformer::StateGetOp op) const;
  Status set(transformer::StateSetOp op, Ref value);
  /// Appends rows to a cache and returns its whole contents. Error beyond its capacity.
  Expected<Ref> append(transformer::CacheAppendOp op, const RefTensor &rows);
  /// Appends rows of each sequence at its place `at`: as many as `counts` says, by default all.
  Expected<Ref> appendEach(transformer::CacheAppendOp op, const RefTensor &rows,
                           const RefTensor &at, const RefTensor *counts);
  /// Empties all caches of a length. With `rows`, empties only these rows, and commit replaces only
  /// them by what the function sets.
  Status clear(transformer::CacheClearOp op, const RefTensor *rows);
  /// Gathers the rows `parents` of every state and of its row counts.
  Status reorder(transformer::CacheReorderOp op, const RefTensor &parents);
  /// Adds to the gradient of a weight.
  void add(transformer::WeightGradientOpInterface op, const Lookup &lookup);
  /// The accumulator to which `op` has added.
  const RefTensor &gradientOf(transformer::WeightGradientOpInterface op) const;
  /// Length of caches before the call: `cache.length` does not count this call's rows.
  int64_t lengthBefore(const std::string &length) const;
  void commit(SessionState &session);

private:
  Status clearRows(transformer::CacheClearOp op, const RefTensor &rows);

  SessionState before, after;
  std::vector<std::string> written;  ///< states that the function sets
  std::optional<RefTensor> replaced; ///< the rows of the session that `written` replaces
};

/// Values of the function's arguments in order: given inputs, checked by name, type and range, and
/// defaults.
Expected<std::vector<Ref>> bindInputs(mlir::func::FuncOp function, const NamedRefTensors &inputs,
                                      const SessionState &session);

/// Converts a result to the shape that callers see (`transformer.port`).
RefTensor asCallersSee(mlir::func::FuncOp function, unsigned result, const RefTensor &value);

} // namespace heddle::reference
