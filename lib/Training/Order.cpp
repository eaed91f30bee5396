//===- Order.cpp - Order of examples ------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All sorting keys end with the number of an example, so any sorting algorithm gives one result.
#include "heddle/Training/Order.h"

#include "heddle/Support/Philox.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace heddle;

std::vector<uint32_t> heddle::permutation(size_t count, uint32_t seed, uint32_t epoch,
                                          uint32_t use) {
  std::vector<std::pair<uint64_t, uint32_t>> keys(count);
  for (uint32_t i = 0; i < count; ++i) {
    const std::array<uint32_t, 4> words = philox({i, 0, 0, use}, {seed, epoch});
    keys[i] = {uint64_t{words[0]} << 32 | words[1], i};
  }
  std::ranges::sort(keys);
  std::vector<uint32_t> order(count);
  std::ranges::transform(keys, order.begin(), &std::pair<uint64_t, uint32_t>::second);
  return order;
}

namespace {

/// Maximum size of a batch.
class Room {
public:
  explicit Room(const BatchRecipe &recipe)
      : rows(recipe.tokens ? INT64_MAX : recipe.rows.value_or(BatchRecipe::usualRows)),
        tokens(recipe.tokens.value_or(INT64_MAX)) {}

  /// True if a batch of `count` examples, the longest of `longest` tokens, has at most the maximum.
  bool holds(int64_t count, int64_t longest) const {
    return count <= rows && (tokens == INT64_MAX || count * longest <= tokens);
  }

private:
  int64_t rows, tokens;
};

/// Cuts a list of examples into batches.
std::vector<Batch> cut(std::span<const uint32_t> order, std::span<const ExampleLength> examples,
                       const Room &room) {
  std::vector<Batch> batches;
  int64_t longest = 0;
  for (const uint32_t example : order) {
    const int64_t length = examples[example].tokens();
    longest = std::max(longest, length);
    if (batches.empty() || !room.holds(std::ssize(batches.back()) + 1, longest)) {
      batches.emplace_back();
      longest = length;
    }
    batches.back().push_back(example);
  }
  return batches;
}

/// Sorts windows of examples by length. A window has the examples of 100 batches of this order.
void sortWindows(std::vector<uint32_t> &order, std::span<const ExampleLength> examples,
                 const Room &room) {
  constexpr size_t batchesOfWindow = 100;
  std::vector<size_t> rank(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    rank[order[i]] = i;
  auto shorter = [&](uint32_t a, uint32_t b) {
    return std::tuple(examples[a].target, examples[a].source, rank[a]) <
           std::tuple(examples[b].target, examples[b].source, rank[b]);
  };
  const std::vector<Batch> batches = cut(order, examples, room);
  auto begin = order.begin();
  for (size_t first = 0; first < batches.size(); first += batchesOfWindow) {
    auto end = begin;
    for (size_t i = first; i < std::min(first + batchesOfWindow, batches.size()); ++i)
      end += std::ssize(batches[i]);
    std::sort(begin, end, shorter);
    begin = end;
  }
}

} // namespace

//===- Batches -----------------------------------------------------------===//

std::vector<Batch> heddle::batchesOf(std::span<const ExampleLength> examples,
                                     const BatchRecipe &recipe, uint32_t seed, uint32_t epoch) {
  const Room room(recipe);
  std::vector<uint32_t> order(examples.size());
  std::iota(order.begin(), order.end(), 0);
  if (recipe.order == BatchRecipe::Order::File)
    return cut(order, examples, room);
  order = permutation(examples.size(), seed, epoch, static_cast<uint32_t>(RandomUse::Examples));
  if (recipe.order == BatchRecipe::Order::Random)
    return cut(order, examples, room);
  sortWindows(order, examples, room);
  std::vector<Batch> sorted = cut(order, examples, room), batches;
  for (const uint32_t batch :
       permutation(sorted.size(), seed, epoch, static_cast<uint32_t>(RandomUse::Batches)))
    batches.push_back(std::move(sorted[batch]));
  return batches;
}

Batches::Batches(std::vector<ExampleLength> examples, const Recipe &recipe)
    : examples(std::move(examples)), recipe(recipe.batch), seed(static_cast<uint32_t>(recipe.seed)),
      given(recipe.steps), epochs(recipe.epochs.value_or(Recipe::usualEpochs)) {}

const std::vector<Batch> &Batches::epoch(uint32_t number) {
  if (batches.empty() || number != current)
    batches = batchesOf(examples, recipe, seed, number);
  current = number;
  return batches;
}

/// Number of batches of an epoch. A maximum of rows gives each epoch equally many.
int64_t Batches::countOf(uint32_t number) {
  while (counts.size() <= (recipe.tokens ? number : 0))
    counts.push_back(std::ssize(epoch(static_cast<uint32_t>(counts.size()))));
  return recipe.tokens ? counts[number] : counts[0];
}

Batches::Place Batches::placeOf(int64_t step) {
  int64_t batch = step - 1;
  if (!recipe.tokens)
    return {static_cast<uint32_t>(batch / countOf(0)), batch % countOf(0)};
  uint32_t number = 0;
  for (; batch >= countOf(number); ++number)
    batch -= countOf(number);
  return {number, batch};
}

int64_t Batches::steps() {
  if (given)
    return *given;
  if (!recipe.tokens)
    return epochs * countOf(0);
  int64_t steps = 0;
  for (uint32_t number = 0; number < epochs; ++number)
    steps += countOf(number);
  return steps;
}

const Batch &Batches::at(int64_t step) {
  const Place place = placeOf(step);
  return epoch(place.epoch)[static_cast<size_t>(place.batch)];
}
