//===- Binding.h - Inputs of a call, checked --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that can be wrong about a caller's inputs is found here, before a
// device sees them: names, types, ranks, dimensions, ranges. Inputs that the
// caller left out and that have a default are made here. A session binds each
// function's inputs in the same object, call after call, so that a call of known
// shapes finds all memory there.
#pragma once

#include "Boundary.h"
#include "Plan.h"

#include "heddle/Runtime/Session.h"

namespace heddle {

/// A map by name that is emptied before each call and filled with the same names: its entries wait
/// in another one meanwhile.
template <typename Value>
class RefilledMap {
public:
  using Map = std::map<std::string, Value, std::less<>>;

  void clear() {
    waiting.merge(filled);
    filled.clear();
  }
  /// The entry of that name and whether it is new; one that is there keeps its value.
  std::pair<typename Map::iterator, bool> add(const std::string &name, const Value &value) {
    auto found = filled.find(name);
    if (found != filled.end())
      return {found, false};
    if (auto node = waiting.extract(name)) {
      node.mapped() = value;
      return {filled.insert(std::move(node)).position, true};
    }
    return filled.emplace(name, value);
  }
  const Map &map() const { return filled; }

private:
  Map filled, waiting;
};

/// Lengths of the rows of one input over all calls since the caches were emptied.
class RunningLengths {
public:
  /// Writes the lengths after `source` as well; kept by commit.
  void next(const std::string &name, const Tensor &source, int64_t padding, Tensor &lengths);
  /// Takes the lengths that the caller gave instead.
  void replace(const std::string &name, const Tensor &lengths, int64_t columns);
  /// A call begins. What an earlier one did not commit is forgotten: it failed. `emptyCaches`: this
  /// call empties the caches.
  void begin(bool emptyCaches);
  void commit();
  /// Row r continues row parents[r].
  void permute(std::span<const int64_t> parents);

private:
  struct Count {
    std::vector<int32_t> lengths;
    int64_t seen = 0;
  };
  struct Entry {
    Count kept, next;
    bool pending = false; ///< `next` is to be kept
  };
  Count &start(const std::string &name);

  std::map<std::string, Entry> entries;
  std::vector<int32_t> permuted; ///< where permute works
  bool fresh = false;
};

/// The inputs of one call, in the order of the function's ports.
class BoundInputs {
public:
  explicit BoundInputs(const FunctionLayout &layout)
      : layout(&layout), function(layout.function), tensors(function->inputs.size()),
        made(tensors.size()), turned(tensors.size()) {}

  /// Matches names, checks types and ranks, makes defaults and binds dimensions; `session` are the
  /// dimensions that it keeps. Nothing of an earlier call is left.
  Status bind(const NamedInputs &inputs, const Dimensions &session, RunningLengths &running);
  /// Checks computed dimensions and ranges of integers, once the plan has evaluated them.
  Status check(const Plan &plan) const;

  const Dimensions &dims() const { return values.map(); }
  const Tensor &tensor(size_t port) const { return *tensors[port]; }
  /// The tensor as its buffer holds it: the first two dimensions transposed where the port says so.
  const Tensor &stored(size_t port);
  /// The input and dimension that bound `dim` first, "source: dimension 0 (B)"; empty if none did.
  std::string binder(std::string_view dim) const;

private:
  Status match(const NamedInputs &inputs);
  Status checkTypes() const;
  Status addDefaults(RunningLengths &running);
  Status addDefault(size_t port, RunningLengths &running);
  Status bindDims(const Dimensions &session);
  Status bindPort(size_t port);
  Status bindDim(size_t port, size_t axis);
  Status broadcast(size_t port);
  Status checkBounds(size_t port, const std::string &boundedBy) const;
  Status checkStarts(size_t port, int64_t first, int64_t last) const;
  Status checkRange(size_t port, int64_t low, int64_t high) const;

  const FunctionLayout *layout;
  const Function *function;
  std::vector<const Tensor *> tensors;
  std::vector<Tensor> made; ///< defaults, and tensors that were broadcast
  std::vector<TransposedTensor> turned;
  std::vector<int64_t> full, sizes, wanted; ///< where `broadcast` works
  RefilledMap<int64_t> values;
  RefilledMap<std::pair<size_t, size_t>> binders;
};

} // namespace heddle
