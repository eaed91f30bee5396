//===- WeightPlacement.cpp - Placement of weights on a device -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Placement of weights. Moving a weight away brings the others closer together, so weights are
// moved one by one until all launches fit.
#include "WeightPlacement.h"

#include "heddle/Runtime/Device.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace heddle::vulkan {

WeightPlacement::WeightPlacement(const Program &program, std::span<const Forms> variants,
                                 int64_t limit)
    : program(program), variants(variants), limit(limit), places(program.weights.size()),
      moved(places.size()), byOffset(places.size()) {
  std::iota(byOffset.begin(), byOffset.end(), size_t{0});
  std::ranges::sort(byOffset, {}, [&](size_t weight) { // an empty weight precedes its neighbor
    return std::pair(program.weights[weight].offset, program.weights[weight].elements);
  });
  collectUses();
  placeOthers();
  for (;;) {
    auto use = std::ranges::find_if(uses, [&](const Use &use) { return !fits(use); });
    if (use == uses.end())
      break;
    moved[largestOf(*use)] = true;
    plain = false;
    placeOthers();
  }
  for (size_t weight = 0; weight < moved.size(); ++weight)
    if (moved[weight] && !placeWindows(weight)) {
      places[weight] = size;
      pieces.push_back({program.weights[weight].offset, size, bytesOf(weight)});
      size += aligned(bytesOf(weight));
    }
}

/// Collects the launches of kernels that this device has.
void WeightPlacement::collectUses() {
  for (const Function &function : program.functions)
    for (const Launch &launch : function.launches) {
      auto kernel = std::ranges::find(program.kernels, launch.kernel, &Kernel::name);
      Use use{static_cast<size_t>(kernel - program.kernels.begin()), {}};
      for (const LaunchArgument &argument : launch.arguments)
        use.weights.push_back(argument.kind == LaunchArgument::Kind::Weight ? argument.index : -1);
      if (kernel != program.kernels.end() && variants[use.kernel][0])
        uses.push_back(std::move(use));
    }
}

/// Places all weights that are not moved, in the layout of the file; one piece if no weight is
/// moved.
void WeightPlacement::placeOthers() {
  size = 0;
  pieces.clear();
  for (size_t weight : byOffset) {
    if (moved[weight])
      continue;
    const int64_t from = program.weights[weight].offset;
    // Keep the gaps of the file, so that a weight is never closer to the end of the buffer than in
    // the file.
    if (pieces.empty() || pieces.back().from + (size - pieces.back().to) != from)
      pieces.push_back({from, size, 0});
    places[weight] = size;
    size += aligned(bytesOf(weight));
    pieces.back().bytes = places[weight] + bytesOf(weight) - pieces.back().to;
  }
}

/// Whether one window holds the weights of a launch. Launches with a moved weight fit: they get
/// windows later.
bool WeightPlacement::fits(const Use &use) const {
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
  for (int weight : use.weights) {
    if (weight < 0)
      continue;
    if (moved[weight])
      return true;
    begin = std::min(begin, places[weight]);
    end = std::max(end, places[weight] + bytesOf(weight));
  }
  return end - std::min(begin, end) <= limit;
}

size_t WeightPlacement::largestOf(const Use &use) const {
  int largest = -1;
  for (int weight : use.weights)
    if (weight >= 0 && (largest < 0 || bytesOf(weight) > bytesOf(largest)))
      largest = weight;
  return static_cast<size_t>(largest);
}

/// Places of all weights that share a launch with `weight`, relative to a window's start; `bytes`
/// is their total size.
std::map<size_t, int64_t> WeightPlacement::besideOf(size_t weight, int64_t &bytes) const {
  std::map<size_t, int64_t> beside;
  bytes = 0;
  for (const Use &use : uses) {
    if (std::ranges::find(use.weights, static_cast<int>(weight)) == use.weights.end())
      continue;
    for (int other : use.weights)
      if (other >= 0 && static_cast<size_t>(other) != weight &&
          beside.try_emplace(static_cast<size_t>(other), bytes).second)
        bytes += aligned(bytesOf(other));
  }
  return beside;
}

/// Updates `cut` by the number of rows that a launch takes at a time. False if it needs the whole
/// weight.
bool WeightPlacement::addUnit(const Use &use, const VulkanVariant &variant, size_t weight,
                              Cut &cut) const {
  if (std::ranges::find(use.weights, static_cast<int>(weight)) == use.weights.end())
    return true;
  const bool isWindow = variant.windowed >= 0 &&
                        static_cast<size_t>(variant.windowed) < use.weights.size() &&
                        use.weights[variant.windowed] == static_cast<int>(weight) &&
                        std::ranges::count(use.weights, static_cast<int>(weight)) == 1;
  if (!isWindow || variant.windowAxis < 0)
    return isWindow;
  const GridAxis &axis = variant.grid[variant.windowAxis];
  // Each point takes a tile of rows, and the last one takes the rest.
  if (axis.scalar >= 0 || axis.tile < 1 || (cut.rows + axis.tile - 1) / axis.tile != axis.count)
    return false;
  cut.unit = std::lcm(cut.unit, axis.tile);
  return true;
}

/// How a weight's rows can be cut; none if some launch needs all of them at once.
std::optional<WeightPlacement::Cut> WeightPlacement::cutOf(size_t weight) const {
  auto entry = std::ranges::find(program.pack, static_cast<int>(weight), &PackEntry::weight);
  if (entry == program.pack.end())
    return std::nullopt;
  Cut cut;
  if (entry->layout == PackEntry::Layout::Rows)
    cut.rows = matrixOf(*entry).first;
  else if (entry->layout == PackEntry::Layout::Panels)
    cut.rows = paddedGroups(matrixOf(*entry).first, entry->rowGroup);
  if (cut.rows <= 0 || bytesOf(weight) * 16 % cut.rows != 0)
    return std::nullopt;
  cut.rowBytes16 = bytesOf(weight) * 16 / cut.rows;
  for (const Use &use : uses)
    for (const VulkanVariant *variant : variants[use.kernel])
      if (variant && !addUnit(use, *variant, weight, cut))
        return std::nullopt;
  return cut;
}

/// Places a weight in as few windows as possible. False if no windows can hold it.
bool WeightPlacement::placeWindows(size_t weight) {
  int64_t others = 0;
  WindowedWeight made{{}, besideOf(weight, others)};
  if (others + bytesOf(weight) <= limit) {
    addPart(weight, made, 0, 0, {});
  } else {
    std::optional<Cut> cut = cutOf(weight);
    const int64_t rows = cut && others < limit
                             ? (limit - others) / (cut->rowBytes16 * cut->unit / 16) * cut->unit
                             : 0;
    for (int64_t row = 0; rows > 0 && row < cut->rows; row += rows)
      addPart(weight, made, row, std::min(rows, cut->rows - row), *cut);
  }
  if (made.parts.empty())
    return false;
  windowed.emplace(weight, std::move(made));
  return true;
}

/// Adds a window with `rows` rows of the weight, or with all if `rows` is 0.
void WeightPlacement::addPart(size_t weight, WindowedWeight &to, int64_t firstRow, int64_t rows,
                              const Cut &cut) {
  WeightPart part{firstRow, rows, size, 0};
  for (const auto &[other, place] : to.beside) {
    pieces.push_back({program.weights[other].offset, part.begin + place, bytesOf(other)});
    size = std::max(size, part.begin + place + aligned(bytesOf(other)));
  }
  const int64_t before = firstRow * cut.rowBytes16 / 16,
                bytes = rows ? rows * cut.rowBytes16 / 16 : bytesOf(weight);
  part.origin = size - before;
  pieces.push_back({program.weights[weight].offset + before, size, bytes});
  size += aligned(bytes);
  to.parts.push_back(part);
}

size_t WeightPlacement::weightAt(int64_t offset) const {
  auto behind = std::ranges::upper_bound(
      byOffset, offset, {}, [&](size_t weight) { return program.weights[weight].offset; });
  return behind == byOffset.begin() ? byOffset.front() : *(behind - 1);
}

const WindowedWeight *WeightPlacement::windowsOf(size_t weight) const {
  auto found = windowed.find(weight);
  return found == windowed.end() ? nullptr : &found->second;
}

} // namespace heddle::vulkan
