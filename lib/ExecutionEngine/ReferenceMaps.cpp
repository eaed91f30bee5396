//===- ReferenceMaps.cpp - Semantics of ops over feature maps -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows, maximums, rows, patches and positions of maps, written from the descriptions of the ops.

#include "ReferenceOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle::reference {

namespace {
/// A map with the channels last or first.
struct Map {
  const RefTensor &values;
  bool channelsFirst = false;
  int64_t batch() const { return values.shape[0]; }
  int64_t height() const { return values.shape[channelsFirst ? 2 : 1]; }
  int64_t width() const { return values.shape[channelsFirst ? 3 : 2]; }
  int64_t channels() const { return values.shape[channelsFirst ? 1 : 3]; }
  bool has(int64_t y, int64_t x) const { return y >= 0 && y < height() && x >= 0 && x < width(); }
  double at(int64_t b, int64_t y, int64_t x, int64_t c) const {
    return values.values[channelsFirst ? ((b * channels() + c) * height() + y) * width() + x
                                       : ((b * height() + y) * width() + x) * channels() + c];
  }
};
} // namespace

/// Calls use(b, y, x) for the upper left place of each window, and returns the number of windows
/// along both extents.
template <typename Op>
static std::pair<int64_t, int64_t>
forEachWindow(Op op, const Map &map, llvm::function_ref<void(int64_t, int64_t, int64_t)> use) {
  auto size = static_cast<int64_t>(op.getSize()), stride = static_cast<int64_t>(op.getStride()),
       padding = static_cast<int64_t>(op.getPadding());
  const int64_t rows = (map.height() + 2 * padding - size) / stride + 1,
                columns = (map.width() + 2 * padding - size) / stride + 1;
  for (int64_t b = 0; b < map.batch(); ++b)
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x)
        use(b, y * stride - padding, x * stride - padding);
  return {rows, columns};
}

static RefTensor meaning(WindowsOp op, const Lookup &get) {
  const Map map{get(op.getMap()), op.getChannelsFirst()};
  auto size = static_cast<int64_t>(op.getSize());
  std::vector<double> values;
  auto add = [&](int64_t b, int64_t y, int64_t x, int64_t c) {
    values.push_back(map.has(y, x) ? map.at(b, y, x, c) : 0);
  };
  const auto [rows, columns] = forEachWindow(op, map, [&](int64_t b, int64_t top, int64_t left) {
    for (int64_t c = 0; map.channelsFirst && c < map.channels(); ++c)
      for (int64_t place = 0; place < size * size; ++place)
        add(b, top + place / size, left + place % size, c);
    for (int64_t place = 0; !map.channelsFirst && place < size * size; ++place)
      for (int64_t c = 0; c < map.channels(); ++c)
        add(b, top + place / size, left + place % size, c);
  });
  RefTensor result = make({map.batch(), rows, columns, size * size * map.channels()});
  std::ranges::copy(values, result.values.begin());
  return result;
}

static RefTensor meaning(MaxPoolOp op, const Lookup &get) {
  const Map map{get(op.getMap())};
  auto size = static_cast<int64_t>(op.getSize());
  std::vector<double> values;
  const auto [rows, columns] = forEachWindow(op, map, [&](int64_t b, int64_t top, int64_t left) {
    for (int64_t c = 0; c < map.channels(); ++c) {
      double largest = -std::numeric_limits<double>::infinity();
      for (int64_t y = top; y < top + size; ++y)
        for (int64_t x = left; x < left + size; ++x)
          if (map.has(y, x))
            largest = std::fmax(largest, map.at(b, y, x, c));
      values.push_back(largest);
    }
  });
  RefTensor result = make({map.batch(), rows, columns, map.channels()});
  std::ranges::copy(values, result.values.begin());
  return result;
}

static RefTensor meaning(MapRowsOp op, const Lookup &get) {
  RefTensor result = get(op.getMap());
  result.shape = {result.shape[0], result.shape[1] * result.shape[2], result.shape[3]};
  return result;
}

static RefTensor meaning(SliceRowsOp op, const Lookup &get) {
  const RefTensor &rows = get(op.getRows());
  auto first = static_cast<int64_t>(op.getFirst()), count = static_cast<int64_t>(op.getCount());
  RefTensor result = make({rows.shape[0], count, rows.shape[2]});
  for (int64_t b = 0; b < rows.shape[0]; ++b)
    std::copy_n(rows.values.begin() + (b * rows.shape[1] + first) * rows.shape[2],
                count * rows.shape[2], result.values.begin() + b * count * rows.shape[2]);
  return result;
}

static RefTensor meaning(RepeatRowsOp op, const Lookup &get) {
  const RefTensor &table = get(op.getTable());
  const int64_t batch = get(op.getMap()).shape[0];
  RefTensor result = make({batch, table.shape[0], table.shape[1]});
  for (int64_t b = 0; b < batch; ++b)
    std::ranges::copy(table.values, result.values.begin() + b * table.size());
  return result;
}

//===- Patches of images -------------------------------------------------===//

/// Divides an image into patches of `side` by `side` pixels, one row per patch.
static RefTensor patches(const RefTensor &image, int64_t side) {
  int64_t channels = image.shape[1], height = image.shape[2], width = image.shape[3];
  RefTensor result = make({image.shape[0], height / side * (width / side), channels * side * side});
  size_t next = 0;
  for (int64_t b = 0; b < image.shape[0]; ++b)
    for (int64_t y = 0; y < height; y += side)
      for (int64_t x = 0; x < width; x += side)
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t dy = 0; dy < side; ++dy)
            for (int64_t dx = 0; dx < side; ++dx)
              result.values[next++] =
                  image.values[((b * channels + c) * height + y + dy) * width + x + dx];
  return result;
}

static RefTensor meaning(PatchesOp op, const Lookup &get) {
  return patches(get(op.getImage()), op.getSize());
}

static RefTensor meaning(PatchEmbeddingOp op, const Lookup &get) {
  const RefTensor &weight = get(op.getWeight());
  return linear(patches(get(op.getImage()), weight.shape[2]), weight, optional(op.getBias(), get),
                Activation::None);
}

//===- Positions ---------------------------------------------------------===//

/// A row of at(y, x, e) for each place of a map.
static RefTensor placeRows(const Map &map, int64_t features,
                           llvm::function_ref<double(int64_t, int64_t, int64_t)> at) {
  RefTensor result = make({map.batch(), map.height() * map.width(), features});
  size_t next = 0;
  for (int64_t b = 0; b < map.batch(); ++b)
    for (int64_t y = 0; y < map.height(); ++y)
      for (int64_t x = 0; x < map.width(); ++x)
        for (int64_t e = 0; e < features; ++e)
          result.values[next++] = at(y, x, e);
  return result;
}

static RefTensor meaning(PositionPlaneOp op, const Lookup &get) {
  const Map map{get(op.getMap())};
  auto features = static_cast<int64_t>(op.getFeatures()), half = features / 2;
  const double temperature = op.getTemperature().convertToDouble();
  return placeRows(map, features, [&](int64_t y, int64_t x, int64_t e) {
    const bool isHeight = e < half;
    const int64_t i = isHeight ? e : e - half;
    const double u = isHeight
                         ? (static_cast<double>(y) + 1) / (static_cast<double>(map.height()) + 1e-6)
                         : (static_cast<double>(x) + 1) / (static_cast<double>(map.width()) + 1e-6);
    const double angle =
        2 * std::numbers::pi * u /
        std::pow(temperature, static_cast<double>(i - i % 2) / static_cast<double>(half));
    return i % 2 ? std::cos(angle) : std::sin(angle);
  });
}

static double cubic(double x) {
  constexpr double a = -0.75;
  x = std::abs(x);
  return x <= 1   ? ((a + 2) * x - (a + 3)) * x * x + 1
         : x <= 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
                  : 0;
}

static RefTensor meaning(PositionResizedOp op, const Lookup &get) {
  const Map map{get(op.getMap())};
  const RefTensor &table = get(op.getTable());
  const auto columns = static_cast<int64_t>(op.getColumns());
  const int64_t rows = table.shape[0] / columns, features = table.shape[1];
  auto place = [](int64_t i, int64_t extent, int64_t known) {
    return (static_cast<double>(i) + 0.5) * static_cast<double>(known) /
               static_cast<double>(extent) -
           0.5;
  };
  return placeRows(map, features, [&](int64_t y, int64_t x, int64_t e) {
    const double down = place(y, map.height(), rows), right = place(x, map.width(), columns);
    const auto top = static_cast<int64_t>(std::floor(down)),
               left = static_cast<int64_t>(std::floor(right));
    double sum = 0;
    for (int64_t i = top - 1; i <= top + 2; ++i)
      for (int64_t k = left - 1; k <= left + 2; ++k) {
        const int64_t row =
            std::clamp<int64_t>(i, 0, rows - 1) * columns + std::clamp<int64_t>(k, 0, columns - 1);
        sum += cubic(down - static_cast<double>(i)) * cubic(right - static_cast<double>(k)) *
               table.values[row * features + e];
      }
    return sum;
  });
}

std::optional<RefTensor> mapsOf(Operation *op, const Lookup &get) {
  return llvm::TypeSwitch<Operation *, std::optional<RefTensor>>(op)
      .Case<PatchesOp, PatchEmbeddingOp, WindowsOp, MaxPoolOp, MapRowsOp, SliceRowsOp, RepeatRowsOp,
            PositionPlaneOp, PositionResizedOp>([&](auto known) { return meaning(known, get); })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace heddle::reference
