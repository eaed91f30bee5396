//===- ReferenceSession.h - Inputs and states of the reference -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What outlives a call of the reference interpreter, what a call does to it,
// and how a call's inputs are checked and completed.
#pragma once

#include "ReferenceOps.h"

#include <map>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace heddle::reference {

/// Tokens that a session has seen of one input: how many a row, and each row's last one that is not
/// padding, plus 1.
struct TokenCount {
  int64_t seen = 0;
  std::vector<int64_t> lengths;
};

struct SessionState {
  std::map<std::string, Ref> states;
  std::map<std::string, int64_t> lengths;      ///< of caches, by the dimension's name
  std::map<std::string, std::string> lengthOf; ///< a cache's dimension
  std::map<std::string, TokenCount> tokens;    ///< by the name of the input
};

/// States as one call sees and changes them.
class StateChanges {
public:
  explicit StateChanges(const SessionState &session) : before(session), after(session) {}

  Expected<Ref> get(transformer::StateGetOp op) const;
  Status set(transformer::StateSetOp op, Ref value);
  Expected<Ref> append(transformer::CacheAppendOp op, const RefTensor &rows);
  Status clear(const std::string &length);
  Status reorder(transformer::CacheReorderOp op, const RefTensor &parents);
  int64_t lengthBefore(const std::string &length) const;
  /// Counts this call's tokens for inputs that default to running lengths.
  void countTokens(mlir::func::FuncOp function, const std::vector<Ref> &arguments);
  void commit(SessionState &session) { session = std::move(after); }

private:
  SessionState before, after;
};

/// Values of the function's arguments in order: given ones checked against types, names and ranges,
/// others by default.
Expected<std::vector<Ref>> bindInputs(mlir::func::FuncOp function, const NamedRefTensors &inputs,
                                      const SessionState &session);

/// A result as callers see it (`transformer.port`).
RefTensor asCallersSee(mlir::func::FuncOp function, unsigned result, const RefTensor &value);

} // namespace heddle::reference
