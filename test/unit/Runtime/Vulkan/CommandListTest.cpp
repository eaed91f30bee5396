//===- CommandListTest.cpp - Barriers by ranges of memory --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists need no device. Handles are numbers here.
#include "Vulkan/CommandList.h"

#include <gtest/gtest.h>

using namespace heddle::vulkan;

namespace {

VkBuffer buffer(uintptr_t number) { return reinterpret_cast<VkBuffer>(number); }

/// Barriers of two kernels with one access each.
size_t barriersBetween(const Access &first, const Access &second) {
  CommandList list;
  for (const Access &access : {first, second}) {
    list.bind({}, {&access, 1});
    list.dispatch(VK_NULL_HANDLE, {}, {1, 1, 1});
  }
  return list.barriers();
}

CommandList copies(int64_t bytes, uint32_t word) {
  CommandList list;
  list.copy({buffer(1), buffer(2), 0, 0, bytes});
  list.bind({}, {});
  list.dispatch(VK_NULL_HANDLE, {&word, 1}, {1, 1, 1});
  return list;
}

} // namespace

TEST(CommandList, BarriersOnlyWhereRangesMeet) {
  const Access read{buffer(1), 0, 64}, write{buffer(1), 0, 64, true};
  EXPECT_EQ(barriersBetween(write, read), 1u);
  EXPECT_EQ(barriersBetween(read, write), 1u);
  EXPECT_EQ(barriersBetween(write, write), 1u);
  EXPECT_EQ(barriersBetween(read, read), 0u);
  EXPECT_EQ(barriersBetween(write, {buffer(1), 64, 64}), 0u);
  EXPECT_EQ(barriersBetween(write, {buffer(1), 63, 64}), 1u);
  EXPECT_EQ(barriersBetween({buffer(1), 64, 64, true}, {buffer(1), 0, 65}), 1u);
  EXPECT_EQ(barriersBetween(write, {buffer(2), 0, 64, true}), 0u);
  EXPECT_EQ(barriersBetween({buffer(1), 0, 0, true}, write), 0u); // an empty range at an end
}

TEST(CommandList, WholeBuffersAreCompared) {
  CommandList list(/*wholeBuffers=*/true);
  for (const Access &access :
       {Access{buffer(1), 0, 64, true}, Access{buffer(1), 64, 64}, Access{buffer(2), 0, 64, true}})
    list.bind({}, {&access, 1});
  EXPECT_EQ(list.barriers(), 1u);
}

TEST(CommandList, ABarrierOrdersAllCommandsBeforeIt) {
  CommandList list;
  const Access first{buffer(1), 0, 16, true}, second{buffer(1), 16, 16, true};
  const Access both[] = {{buffer(1), 0, 16}, {buffer(1), 16, 16}};
  list.bind({}, {&first, 1});
  list.bind({}, {&second, 1});
  list.bind({}, both); // one barrier for both
  EXPECT_EQ(list.barriers(), 1u);
  list.copy({buffer(1), buffer(3), 0, 0, 32}); // reads what the barrier made visible
  EXPECT_EQ(list.barriers(), 1u);
  list.fill({buffer(3), 0, 4, 0});
  EXPECT_EQ(list.barriers(), 2u);
  const auto &barrier = std::get<BarrierCommand>(list.commands()[2]);
  EXPECT_EQ(barrier.from, VkPipelineStageFlags{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT});
}

TEST(CommandList, NoPartBeginsWithADispatch) {
  CommandList list;
  for (int kernel = 0; kernel < 2; ++kernel) {
    list.bind({}, {});
    for (uint32_t piece = 0; piece < 3; ++piece)
      list.dispatch(VK_NULL_HANDLE, {&piece, 1}, {1, 1, 1});
  }
  EXPECT_EQ(list.splitFrom(1), 4u);
  EXPECT_EQ(list.splitFrom(3), 4u);
  EXPECT_EQ(list.splitFrom(4), 4u);
  EXPECT_EQ(list.splitFrom(5), 8u); // the end
}

TEST(CommandList, ManyIndependentCopies) {
  CommandList list;
  for (int64_t row = 0; row < 10'000; ++row)
    list.copy({buffer(1), buffer(2), row * 16, row * 16, 16});
  EXPECT_GT(list.barriers(), 0u); // bounded comparisons
  EXPECT_LT(list.barriers(), 400u);
}

TEST(CommandList, EqualListsHaveEqualCommandsAndWords) {
  EXPECT_TRUE(copies(16, 1) == copies(16, 1));
  EXPECT_FALSE(copies(32, 1) == copies(16, 1));
  EXPECT_FALSE(copies(16, 2) == copies(16, 1));
  CommandList stamped = copies(16, 1);
  stamped.stamp();
  EXPECT_FALSE(stamped == copies(16, 1));
  stamped.clear();
  EXPECT_TRUE(stamped == CommandList());
  EXPECT_EQ(stamped.stamps() + stamped.barriers(), 0u);
}
