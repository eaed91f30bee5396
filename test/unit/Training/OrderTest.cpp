//===- OrderTest.cpp - Order of examples ----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Training/Order.h"

#include "heddle/Support/Philox.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

using namespace heddle;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

namespace {

using Order = BatchRecipe::Order;

constexpr auto examplesUse = static_cast<uint32_t>(RandomUse::Examples);

/// Examples with lengths of 1 to 40 tokens.
std::vector<ExampleLength> examplesOf(size_t count) {
  std::vector<ExampleLength> examples;
  for (uint32_t i = 0; i < count; ++i) {
    const auto words = philox({i, 0, 0, 0}, {1, 2});
    examples.push_back(
        {static_cast<int32_t>(1 + words[0] % 40), static_cast<int32_t>(1 + words[1] % 40)});
  }
  return examples;
}

std::vector<uint32_t> joined(const std::vector<Batch> &batches) {
  std::vector<uint32_t> all;
  for (const Batch &batch : batches)
    all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

void expectEachOnce(const std::vector<Batch> &batches, size_t count) {
  std::vector<uint32_t> all = joined(batches), expected(count);
  std::ranges::sort(all);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

int64_t longestOf(const Batch &batch, const std::vector<ExampleLength> &examples) {
  int64_t longest = 0;
  for (uint32_t example : batch)
    longest = std::max<int64_t>(longest, examples[example].tokens());
  return longest;
}

/// The order is part of what a run promises, so a change of it changes trained weights.
TEST(Order, PermutationIsFixed) {
  EXPECT_THAT(permutation(8, 0, 0, examplesUse), ElementsAre(6, 4, 5, 2, 7, 0, 3, 1));
  EXPECT_THAT(permutation(8, 0, 1, examplesUse), ElementsAre(1, 5, 2, 4, 3, 0, 6, 7));
}

TEST(Order, PermutationsDifferBySeedEpochAndUse) {
  const auto first = permutation(100, 7, 0, examplesUse);
  EXPECT_EQ(first, permutation(100, 7, 0, examplesUse));
  EXPECT_NE(first, permutation(100, 8, 0, examplesUse));
  EXPECT_NE(first, permutation(100, 7, 1, examplesUse));
  EXPECT_NE(first, permutation(100, 7, 0, static_cast<uint32_t>(RandomUse::Batches)));
  EXPECT_THAT(permutation(0, 7, 0, examplesUse), IsEmpty());
}

TEST(Order, EachExampleIsInOneBatch) {
  const auto examples = examplesOf(5000);
  for (Order order : {Order::Alike, Order::Random, Order::File}) {
    expectEachOnce(batchesOf(examples, {.rows = 32, .order = order}, 1, 2), 5000);
    expectEachOnce(batchesOf(examples, {.tokens = 500, .order = order}, 1, 2), 5000);
  }
}

TEST(Order, FileKeepsItsOrder) {
  const auto examples = examplesOf(7);
  EXPECT_THAT(batchesOf(examples, {.rows = 3, .order = Order::File}, 5, 5),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5), ElementsAre(6)));
}

TEST(Order, OnlyOneBatchIsShort) {
  const auto batches = batchesOf(examplesOf(1000), {.rows = 128}, 0, 0);
  EXPECT_THAT(batches, SizeIs(8));
  EXPECT_EQ(std::ranges::count_if(batches, [](const Batch &b) { return b.size() != 128; }), 1);
}

TEST(Order, TokensIncludePadding) {
  auto examples = examplesOf(3000);
  examples[5].source = 900; // longer than a batch
  for (Order order : {Order::Alike, Order::Random}) {
    const auto batches = batchesOf(examples, {.tokens = 500, .order = order}, 3, 0);
    for (const Batch &batch : batches)
      EXPECT_TRUE(batch.size() == 1 || std::ssize(batch) * longestOf(batch, examples) <= 500);
  }
}

/// Batches of examples of similar length have less padding, and their order is random.
TEST(Order, AlikeSortsWindowsAndPermutesBatches) {
  const auto examples = examplesOf(6400);
  auto padded = [&](Order order) {
    int64_t tokens = 0;
    for (const Batch &batch : batchesOf(examples, {.rows = 64, .order = order}, 3, 0))
      tokens += std::ssize(batch) * longestOf(batch, examples);
    return tokens;
  };
  EXPECT_LT(padded(Order::Alike), padded(Order::Random) * 0.9);
  const auto batches = batchesOf(examples, {.rows = 64}, 3, 0);
  EXPECT_FALSE(std::ranges::is_sorted(
      batches, {}, [&](const Batch &batch) { return examples[batch.front()].target; }));
  EXPECT_NE(joined(batches), joined(batchesOf(examples, {.rows = 64}, 3, 1)));
}

TEST(Batches, FollowEpochs) {
  const auto examples = examplesOf(700);
  for (const BatchRecipe &recipe : {BatchRecipe{.rows = 64}, BatchRecipe{.tokens = 300}}) {
    Recipe whole;
    whole.epochs = 3;
    whole.seed = 9;
    whole.batch = recipe;
    Batches batches(examples, whole);
    int64_t step = 0;
    for (uint32_t epoch = 0; epoch < 3; ++epoch)
      for (const Batch &batch : batchesOf(examples, recipe, 9, epoch)) {
        EXPECT_EQ(batches.at(++step), batch);
        EXPECT_EQ(batches.epochOf(step), epoch);
      }
    EXPECT_EQ(batches.steps(), step);
    EXPECT_TRUE(batches.endsEpoch(step));
    EXPECT_FALSE(batches.endsEpoch(step - 1));
    // A run that is resumed begins anywhere.
    Batches resumed(examples, whole);
    EXPECT_EQ(resumed.at(step), batches.at(step));
    EXPECT_EQ(resumed.at(2), batches.at(2));
  }
}

TEST(Batches, StepsOfTheRecipe) {
  Recipe recipe;
  recipe.steps = 1000;
  Batches batches(examplesOf(10), recipe);
  EXPECT_EQ(batches.steps(), 1000);
  EXPECT_EQ(batches.epochOf(1000), 999U);
  recipe.steps.reset();
  EXPECT_EQ(Batches(examplesOf(64), recipe).steps(), 20);
}

TEST(Order, NoExamples) { EXPECT_THAT(batchesOf({}, {}, 0, 0), IsEmpty()); }

} // namespace
