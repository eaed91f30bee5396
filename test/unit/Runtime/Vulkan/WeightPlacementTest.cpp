//===- WeightPlacementTest.cpp - Windows of weights ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that every launch finds all its weights within a window, and that
// uploads copy the contents that windows promise.
#include "Vulkan/WeightPlacement.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace heddle;
using namespace heddle::vulkan;

namespace {

/// A program of kernels that read weights, without buffers.
class Weights : public testing::Test {
protected:
  /// Adds a matrix in rows of 16 numbers, or in panels, which are equal for 16 columns.
  int add(int64_t rows, PackEntry::Layout layout = PackEntry::Layout::Panels) {
    PackEntry entry;
    entry.shape = {rows, 16};
    entry.layout = layout;
    entry.weight = static_cast<int>(program.weights.size());
    program.weights.push_back({"w", program.weightBytes, packedElements(entry)});
    program.weightBytes += (packedElements(entry) * 4 + 255) / 256 * 256;
    program.pack.push_back(entry);
    return entry.weight;
  }
  /// Adds a launch of a separate kernel over the weights. The first weight has a window, along
  /// `axis` in tiles of `tile` rows, or by a gather (-1).
  void launch(std::vector<int> weights, int axis, int64_t tile = 1) {
    Kernel kernel;
    kernel.name = "k" + std::to_string(program.kernels.size());
    VulkanVariant variant;
    variant.windowed = 0;
    variant.windowAxis = axis;
    if (axis >= 0)
      variant.grid[axis] = {-1, tile, (program.pack[weights[0]].shape[0] + tile - 1) / tile};
    kernel.vulkan = {variant};
    Launch made;
    made.kernel = kernel.name;
    for (int weight : weights)
      made.arguments.push_back({LaunchArgument::Kind::Weight, weight, SizeExpr(0)});
    program.kernels.push_back(std::move(kernel));
    if (program.functions.empty())
      program.functions.emplace_back();
    program.functions[0].launches.push_back(std::move(made));
  }
  WeightPlacement place(int64_t limit) {
    variants.clear();
    for (const Kernel &kernel : program.kernels)
      variants.push_back(
          {&kernel.vulkan[0], kernel.vulkan.size() > 1 ? &kernel.vulkan[1] : nullptr});
    return {program, variants, limit};
  }
  /// Position in the file of a byte of the device's buffer; -1 if it is not copied.
  static int64_t sourceOf(const WeightPlacement &placement, int64_t place) {
    int64_t from = -1;
    for (const auto &copy : placement.copies())
      if (place >= copy.to && place < copy.to + copy.bytes)
        from = copy.from + place - copy.to;
    return from;
  }
  /// Checks all windows of a weight with 64 bytes in each row against the file. Returns their
  /// numbers of rows.
  std::vector<int64_t> rowsOf(const WeightPlacement &placement, int weight, int64_t limit) {
    std::vector<int64_t> rows;
    const WindowedWeight *windowed = placement.windowsOf(weight);
    for (int64_t next = 0; const WeightPart &part : windowed->parts) {
      EXPECT_EQ(part.firstRow, next);
      next += part.rows;
      rows.push_back(part.rows);
      EXPECT_EQ(part.begin % 256, 0);
      const int64_t first = part.origin + part.firstRow * 64, last = first + part.rows * 64 - 4;
      EXPECT_LE(last + 4 - part.begin, limit);
      EXPECT_EQ(sourceOf(placement, first), program.weights[weight].offset + part.firstRow * 64);
      EXPECT_EQ(sourceOf(placement, last),
                program.weights[weight].offset + (part.firstRow + part.rows) * 64 - 4);
      for (const auto &[other, place] : windowed->beside) {
        EXPECT_GE(part.begin + place, part.begin);
        EXPECT_LE(place + program.weights[other].elements * 4, limit);
        EXPECT_EQ(sourceOf(placement, part.begin + place), program.weights[other].offset);
      }
    }
    return rows;
  }

  Program program;
  std::vector<WeightPlacement::Forms> variants;
};

TEST_F(Weights, LieAsInTheFileWhereTheyFit) {
  for (int64_t rows : {100, 3, 100})
    add(rows);
  launch({0, 1}, -1);
  launch({2}, 0, 16);
  const WeightPlacement placement = place(8192); // the first two weights, in panels of 16 rows
  EXPECT_TRUE(placement.isPlain());
  ASSERT_EQ(placement.copies().size(), 1u);
  EXPECT_EQ(placement.copies()[0].to, 0);
  EXPECT_EQ(placement.place(2), program.weights[2].offset);
}

TEST_F(Weights, AreCutIntoWindowsOfWholeSteps) {
  const int small = add(16), table = add(1000, PackEntry::Layout::Rows), far = add(16);
  launch({table, small, far}, -1);
  constexpr int64_t limit = 16384; // 256 rows, 32 of them for the other weights
  const WeightPlacement placement = place(limit);
  EXPECT_FALSE(placement.isPlain());
  EXPECT_EQ(rowsOf(placement, table, limit), (std::vector<int64_t>{224, 224, 224, 224, 104}));
  EXPECT_EQ(sourceOf(placement, placement.place(far)), program.weights[far].offset);
}

TEST_F(Weights, ServeATableAndAClassifierAtOnce) {
  const int table = add(960), scales = add(16), bias = add(32);
  launch({table, scales}, -1);
  launch({table, bias}, 2, 96);
  constexpr int64_t limit = 20480; // 320 rows, 48 of them for the bias
  EXPECT_EQ(rowsOf(place(limit), table, limit), (std::vector<int64_t>{192, 192, 192, 192, 192}));
}

/// 3024 rows are 48 tiles of 64. The last tile is short, so its rows are not a multiple of the
/// tile.
TEST_F(Weights, AreCutAtTilesThoughTheLastIsShort) {
  const int matrix = add(3024), bias = add(48);
  launch({matrix, bias}, 1, 64);
  constexpr int64_t limit = 16 * 64 * 64;
  EXPECT_EQ(rowsOf(place(limit), matrix, limit), (std::vector<int64_t>{960, 960, 960, 144}));
}

TEST_F(Weights, AreCutAtTilesOfTheFormForFewRowsToo) {
  const int matrix = add(3024);
  launch({matrix}, 1, 48); // 1008 rows in each window on its own
  VulkanVariant few = program.kernels[0].vulkan[0];
  few.rows = 0;
  few.grid[1] = {-1, 64, 48};
  program.kernels[0].vulkan.push_back(few);
  constexpr int64_t limit = 16 * 64 * 64;
  EXPECT_EQ(rowsOf(place(limit), matrix, limit), (std::vector<int64_t>{960, 960, 960, 144}));
}

TEST_F(Weights, ComeTogetherWhereOneIsTooFar) {
  const int first = add(16), between = add(400), last = add(64);
  launch({first, last}, -1);
  launch({between}, 0, 16);
  constexpr int64_t limit = 26624; // includes the middle weight
  const WeightPlacement placement = place(limit);
  const WindowedWeight *windowed = placement.windowsOf(last);
  ASSERT_TRUE(windowed);
  ASSERT_EQ(windowed->parts.size(), 1u);
  EXPECT_EQ(windowed->parts[0].rows, 0); // not split
  EXPECT_EQ(sourceOf(placement, windowed->parts[0].origin), program.weights[last].offset);
  EXPECT_EQ(sourceOf(placement, windowed->parts[0].begin + windowed->beside.at(first)),
            program.weights[first].offset);
}

TEST_F(Weights, ThatNoKernelCanCutLieWhole) {
  const int table = add(1000);
  launch({table}, -1);
  program.kernels[0].vulkan[0].windowed = -1;
  const WeightPlacement placement = place(16384);
  EXPECT_EQ(placement.windowsOf(table), nullptr);
  EXPECT_EQ(sourceOf(placement, placement.place(table)), program.weights[table].offset);
}

} // namespace
