//===- MemoryTest.cpp - Memory that is exhausted ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lets each allocation of a call fail once. The call returns an error, and no
// exception reaches a noexcept function, which would end the process.

#include "heddle/Support/Json.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <nlohmann/json.hpp>

using namespace heddle;

/// Number of allocations of this thread that succeed before one fails; negative: all succeed.
static thread_local int64_t untilFailure = -1;

void *operator new(size_t size) {
  if (untilFailure >= 0 && untilFailure-- == 0)
    throw std::bad_alloc();
  if (void *memory = std::malloc(size))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

TEST(Memory, JsonWithoutItIsAnError) {
  std::string text = "{";
  for (int i = 0; i < 9; ++i)
    text += std::string(i ? "," : "") + "\"a key of more than sixteen bytes " + std::to_string(i) +
            "\": {\"another key of as many bytes\": [1, \"a text of more than sixteen bytes\"]}";
  text += "}";
  const auto expected = nlohmann::ordered_json::parse(text);
  for (int64_t n = 0;; ++n) {
    untilFailure = n;
    auto json = withinMemory([&] { return parseJson(text, "a.json"); });
    const bool isDone = std::exchange(untilFailure, -1) >= 0;
    if (isDone) {
      ASSERT_TRUE(json);
      EXPECT_EQ(*json, expected);
      EXPECT_GT(n, 50);
      return;
    }
    ASSERT_FALSE(json) << n;
  }
}
