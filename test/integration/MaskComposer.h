//===- MaskComposer.h - Random attentions as text -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Composes attentions with masks and score rules of every kind from a seed: the text of a function,
// and its input tensors for given sizes.
#pragma once

#include "heddle/ExecutionEngine/Reference.h"

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace heddle::test {

/// Random numbers that are equal on every platform.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  /// Integer in [low, high].
  int64_t whole(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return whole(0, 99) < percent; }
  /// Number in [-1, 1].
  double unit() { return static_cast<double>(engine() >> 40) * 0x1p-23 - 1; }
  template <typename T>
  const T &of(const std::vector<T> &list) {
    return list[static_cast<size_t>(whole(0, static_cast<int64_t>(list.size()) - 1))];
  }

private:
  std::mt19937_64 engine;
};

/// Sizes of one run. With `documents`, also the starts of queries and keys; B is then 1.
struct Sizes {
  int64_t batch = 1, queries = 1, keys = 1;
  std::vector<int64_t> queryStarts, keyStarts;

  /// Number of sequences that b indexes.
  int64_t sequences() const {
    return queryStarts.empty() ? batch : static_cast<int64_t>(queryStarts.size()) - 1;
  }
  /// Keys of sequence b.
  int64_t keysOf(int64_t b) const {
    return keyStarts.empty() ? keys : keyStarts[b + 1] - keyStarts[b];
  }
};

/// An argument of the function, and its contents for given sizes.
struct Argument {
  std::string name, type, dims;
  std::function<RefTensor(const Sizes &, Random &)> make;
};

/// Heads and features of an attention.
struct Heads {
  int64_t queries = 2, keys = 2, features = 16, values = 16;
};

/// A function with one attention.
struct Composition {
  std::string name, text;
  Heads heads;
  std::vector<Argument> arguments; ///< including q, k and v

  NamedRefTensors inputs(const Sizes &sizes, uint64_t seed) const;
};

/// Sizes that the text of a function fixes; 0: given by a call.
struct FixedSizes {
  int64_t queries = 0, keys = 0;
};

/// Ops that may occur in a composition.
struct Kinds {
  int depth = 4;
  bool rules = true;      ///< score rules, soft-cap, sinks, hidden scores, further results
  bool documents = false; ///< packed
  /// Only masks whose tiles are derived exactly: key-range masks and their conjunctions.
  bool onlyRanges = false;
  bool weights = false;   ///< the result `weights` even without rules
  bool gradients = false; ///< the gradients of the attention, without sinks
  bool dropout = false;   ///< dropout of weights
  FixedSizes fixed = {};
};

class Composer {
public:
  Composer(Random &random, const Heads &heads, const FixedSizes &fixed = {})
      : random(random), heads(heads), fixed(fixed) {}

  /// Composes a mask and returns the name of its value.
  std::string mask(int depth);
  /// A conjunction of key-range masks.
  std::string ranges(int count);
  std::string packedDocuments();
  /// A table of blocks, of which `percent` percent are allowed.
  std::string blocks(int64_t rows, int64_t columns, int percent);
  std::string conjunction(const std::string &a, const std::string &b);
  std::string bias(int depth);
  /// Clauses and attributes of a rule, in addition to a mask and a bias.
  std::string distance();
  std::string sinks();

  /// Completes the function; `clauses` and `attributes` belong to the attention.
  Composition finish(const std::string &name, const std::string &clauses,
                     const std::string &attributes, bool lse = false, bool weights = false);
  /// Completes the function with the gradients of the attention for the gradient `g` of its output.
  Composition finishGradients(const std::string &name, const std::string &clauses,
                              const std::string &attributes, bool dropout);

  /// Adds an argument and returns "%name".
  std::string argument(const std::string &type, const std::string &dims,
                       std::function<RefTensor(const Sizes &, Random &)> make);
  std::string define(const std::string &op);

private:
  void addRows(const char *which, int64_t count, int64_t width, bool keys);
  std::string signature() const;
  std::string dropout();
  std::string leaf();
  std::string rangeLeaf(int kind);
  std::string blocks();
  std::string dense(const std::string &element);
  std::string ids();
  std::string offset();
  std::string perSequence(int64_t extremes);
  std::string lengths();
  std::string where();
  /// Names of T and S, in types and in lists of dimensions.
  std::string queriesInType() const;
  std::string keysInType() const;
  std::string queriesInDims() const;
  std::string keysInDims() const;
  /// The dimension that b indexes.
  std::string sequences() const { return packed ? "\"D\"" : "\"B\""; }
  std::string biasWhere();

  // Formulas: values inside a region.
  std::string knownFormula();
  std::string condition(int depth);
  std::string integer(int depth);
  std::string integerLeaf();
  std::string number(int depth);
  std::string constant(int64_t value);
  std::string real(const std::string &value);
  std::string choice(const std::string &condition, const std::string &a, const std::string &b);
  std::string load(const std::string &element, const std::string &index);
  std::string binary(const std::string &op, const std::string &a, const std::string &b,
                     const std::string &type = "i32");
  std::string region(const std::string &op, const std::string &yielded, const std::string &type);

  Random &random;
  Heads heads;
  FixedSizes fixed;
  std::vector<Argument> arguments;
  std::string body;    ///< ops of the function
  std::string formula; ///< ops of the region that is being written
  int next = 0;
  bool packed = false; ///< the mask contains packed documents
};

/// The composition for a seed.
Composition compose(uint64_t seed, const std::string &name, const Kinds &kinds);

} // namespace heddle::test
