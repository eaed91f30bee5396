//===- Binding.h - Checks and binds the inputs of a call --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks names, types, ranks, dimensions and ranges of a caller's inputs before a device reads
// them, and adds defaults for omitted inputs. A session keeps one BoundInputs per function, so that
// a call with known shapes allocates nothing.
#pragma once

#include "Boundary.h"
#include "CachedRows.h"
#include "Plan.h"

#include "heddle/Runtime/Session.h"

namespace heddle {

/// Map that recycles its nodes between calls: clear() keeps them for the next add() with the same
/// name.
template <typename Value>
class RefilledMap {
public:
  using Map = std::map<std::string, Value, std::less<>>;

  void clear() {
    waiting.merge(filled);
    filled.clear();
  }
  /// The entry with this name, and whether it is new. An existing entry keeps its value.
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

/// The inputs that callers may give.
std::vector<Port> givenInputs(const Function &function);

/// The inputs of one call, in the order of the function's ports.
class BoundInputs {
public:
  explicit BoundInputs(const FunctionLayout &layout)
      : layout(&layout), function(layout.function), tensors(function->inputs.size()),
        made(tensors.size()), turned(tensors.size()) {}

  /// Matches names, checks types and ranks, makes defaults and binds dimensions, starting from the
  /// dimensions that the session keeps (`session`).
  Status bind(const NamedInputs &inputs, const Dimensions &session, CachedRows &rows);
  /// Checks computed dimensions and ranges of integers, once the plan has evaluated them.
  Status check(const Plan &plan) const;

  const Dimensions &dims() const { return values.map(); }
  const Tensor &tensor(size_t port) const { return *tensors[port]; }
  /// The tensor as its buffer holds it: its first two dimensions transposed if the port says so.
  const Tensor &stored(size_t port);
  /// Zeroes the rows of an output whose sequences append nothing in this call.
  void clearIdle(Tensor &output) const;
  /// Rows of the session that a call of a starting function replaces (Function::replaceBy); null if
  /// the caller gives none: all sequences start anew.
  const Tensor *replaced() const;
  /// The input and dimension that bound `dim` first, "source: dimension 0 (B)"; empty if none did.
  std::string binder(std::string_view dim) const;

private:
  Status match(const NamedInputs &inputs);
  Status checkTypes() const;
  Status addDefaults();
  Status addDefault(size_t port);
  Status addNoRows(size_t port, size_t source);
  Status bindDims(const Dimensions &session, CachedRows &rows);
  Status bindRows(CachedRows &rows);
  Error otherBatch(int64_t expected, int64_t found) const;
  void readAppended(size_t port);
  void clearUnread(size_t port);
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
  std::vector<int64_t> full, sizes, wanted; ///< scratch of broadcast
  std::vector<int32_t> appended;            ///< by sequence, if the call gives the counts
  RefilledMap<int64_t> values;
  RefilledMap<std::pair<size_t, size_t>> binders;
};

} // namespace heddle
