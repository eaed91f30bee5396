//===- Order.h - Order of examples -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The batches of an epoch. The order is a function of the seed, the epoch and the lengths of the
// examples. It depends neither on threads nor on the C++ library. A resumed run computes the order
// of its epoch again.
//
// A permutation sorts the examples by 64 random bits each, and by their numbers where these are
// equal. With `alike`, windows of 100 batches of the permuted examples are sorted by length, and
// then the batches of the epoch are permuted.
#pragma once

#include "heddle/Training/Recipe.h"

#include <span>

namespace heddle {

/// Numbers of tokens of an example.
struct ExampleLength {
  int32_t target = 0; ///< tokens that are scored; 0 with a label
  int32_t source = 0;
  /// Tokens of the longer side, which take memory in a batch.
  int32_t tokens() const { return target > source ? target : source; }
};

/// Numbers of the examples of a batch.
using Batch = std::vector<uint32_t>;

/// The permutation of 0, 1, …, count - 1 in an epoch, which counts from 0.
std::vector<uint32_t> permutation(size_t count, uint32_t seed, uint32_t epoch, uint32_t use);

/// The batches of an epoch, each example in one of them.
std::vector<Batch> batchesOf(std::span<const ExampleLength> examples, const BatchRecipe &recipe,
                             uint32_t seed, uint32_t epoch);

/// The batches of a run, which computes an epoch when it is reached.
class Batches {
public:
  /// The examples must not be empty.
  Batches(std::vector<ExampleLength> examples, const Recipe &recipe);

  /// Number of steps of the run.
  int64_t steps();
  /// The batch of a step, which counts from 1. Valid until the next call.
  const Batch &at(int64_t step);
  /// The epoch of a step, from 0.
  uint32_t epochOf(int64_t step) { return placeOf(step).epoch; }
  /// True if a step is the last one of its epoch.
  bool endsEpoch(int64_t step) { return epochOf(step) != epochOf(step + 1); }

private:
  struct Place {
    uint32_t epoch;
    int64_t batch;
  };
  int64_t countOf(uint32_t epoch);
  Place placeOf(int64_t step);
  const std::vector<Batch> &epoch(uint32_t number);

  std::vector<ExampleLength> examples;
  BatchRecipe recipe;
  uint32_t seed;
  std::optional<int64_t> given; ///< steps of the recipe
  int64_t epochs;
  std::vector<int64_t> counts; ///< batches of the first epochs, which differ with `tokens`
  uint32_t current = 0;        ///< epoch of `batches`
  std::vector<Batch> batches;
};

} // namespace heddle
