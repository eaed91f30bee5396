//===- Binding.h - Inputs of a call, checked --------------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that can be wrong about a caller's inputs is found here, before a
// device sees them: names, types, ranks, dimensions, ranges. Inputs that the
// caller left out and that have a default are made here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Plan.h"

#include "heddle/Runtime/Session.h"

namespace heddle {

/// Lengths of the rows of one input over all calls since the caches were emptied.
class RunningLengths {
public:
  /// Lengths after `source` as well; kept by commit.
  Tensor next(const std::string &name, const Tensor &source, int64_t padding);
  /// Takes the lengths that the caller gave instead.
  void replace(const std::string &name, const Tensor &lengths, int64_t columns);
  /// A call begins. What an earlier one did not commit is forgotten: it failed. `emptyCaches`: this
  /// call empties the caches.
  void begin(bool emptyCaches);
  void commit();
  /// Row r continues row parents[r].
  void permute(std::span<const int64_t> parents);

private:
  struct Entry {
    std::vector<int32_t> lengths;
    int64_t seen = 0;
  };
  Entry &start(const std::string &name);

  std::map<std::string, Entry> entries, pending;
  bool fresh = false;
};

/// The inputs of one call, in the order of the function's ports.
class BoundInputs {
public:
  /// Matches names, checks types and ranks, makes defaults and binds dimensions; `session` are the
  /// dimensions that it keeps.
  static Expected<BoundInputs> bind(const Function &function, const NamedInputs &inputs,
                                    const Dimensions &session, RunningLengths &running);
  /// Checks computed dimensions and ranges of integers, once the plan has evaluated them.
  Status check(const FunctionLayout &layout, const Plan &plan) const;

  const Dimensions &dims() const { return values; }
  const Tensor &tensor(size_t port) const { return *tensors[port]; }
  /// The input and dimension that bound `dim` first, "source: dimension 0 (B)"; empty if none did.
  std::string binder(std::string_view dim) const;

private:
  explicit BoundInputs(const Function &function)
      : function(&function), tensors(function.inputs.size()) {}
  Status match(const NamedInputs &inputs);
  Status checkTypes() const;
  Status addDefaults(RunningLengths &running);
  Status bindDims(const Dimensions &session);
  Status bindPort(size_t port);
  Status bindDim(size_t port, size_t axis);
  Status spread(size_t port);
  Status checkWithin(size_t port, const std::string &within) const;
  Status checkStarts(size_t port, int64_t first, int64_t last) const;
  Status checkRange(size_t port, int64_t low, int64_t high) const;

  const Function *function;
  std::vector<const Tensor *> tensors;
  std::vector<std::unique_ptr<Tensor>> made;
  Dimensions values;
  std::map<std::string, std::pair<size_t, size_t>, std::less<>> binders;
};

} // namespace heddle
