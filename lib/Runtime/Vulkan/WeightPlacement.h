//===- WeightPlacement.h - Where a device holds the weights ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel sees one window of the weights, at most maxStorageBufferRange bytes. Weights
// lie as in the file while the weights of each launch fit into a window. Where they do
// not, the largest of them moves behind all others, with copies of those that stand
// beside it in some launch; if it is too large even so, it is cut into parts, each
// behind copies of its own:
//
//   [others …][beside | rows 0 … 999][beside | rows 1000 … 1999] …
//
// A launch then runs once a part: over the columns that are its rows (a product), or
// storing the rows that it holds (a gather). See VulkanVariant::windowed.
#pragma once

#include "heddle/Support/Program.h"

#include <map>

namespace heddle::vulkan {

/// Rows of a weight and the window that holds them, in bytes of the device's buffer.
struct WeightPart {
  int64_t firstRow = 0, rows = 0; ///< no rows: the window holds all of them
  int64_t begin = 0;              ///< of the window
  int64_t origin = 0;             ///< where row 0 would lie; may be below the window
};

/// A weight with windows of its own.
struct WindowedWeight {
  std::vector<WeightPart> parts;
  std::map<size_t, int64_t> beside; ///< other weights, by their place behind a window's beginning
};

/// Places of a program's weights in a device's buffer.
class WeightPlacement {
public:
  struct Copy {
    int64_t from, to, bytes;
  };

  /// A kernel's chosen variant, and its form for few rows; null: not on this device.
  using Forms = std::array<const VulkanVariant *, 2>;

  /// `variants` are those of the program's kernels. What cannot be
  /// placed within `limit` lies as in the file, and launches that need it fail.
  WeightPlacement(const Program &program, std::span<const Forms> variants, int64_t limit);

  int64_t bytes() const { return size; }
  /// What an upload copies from the file's weights.
  const std::vector<Copy> &copies() const { return pieces; }
  /// Whether every weight lies as in the file.
  bool isPlain() const { return plain; }
  /// Number of the weight at an offset of the file.
  size_t weightAt(int64_t offset) const;
  /// Its windows; null: it lies at place(weight).
  const WindowedWeight *windowsOf(size_t weight) const;
  int64_t place(size_t weight) const { return places[weight]; }

private:
  /// A launch, by what matters here.
  struct Use {
    size_t kernel;
    std::vector<int> weights; ///< by argument; -1: none
  };
  struct Cut {
    int64_t rows = 0, rowBytes16 = 0, unit = 16; ///< all rows, bytes of 16 of them, rows of a step
  };

  void collectUses();
  void placeOthers();
  bool fits(const Use &use) const;
  size_t largestOf(const Use &use) const;
  std::map<size_t, int64_t> besideOf(size_t weight, int64_t &bytes) const;
  std::optional<Cut> cutOf(size_t weight) const;
  bool addUnit(const Use &use, const VulkanVariant &variant, size_t weight, Cut &cut) const;
  bool placeWindows(size_t weight);
  void addPart(size_t weight, WindowedWeight &to, int64_t firstRow, int64_t rows, const Cut &cut);
  int64_t bytesOf(size_t weight) const { return program.weights[weight].elements * 4; }

  const Program &program;
  std::span<const Forms> variants;
  int64_t limit, size = 0;
  bool plain = true;
  std::vector<Use> uses;
  std::vector<int64_t> places;  ///< by weight
  std::vector<char> moved;      ///< by weight: it shall have windows
  std::vector<size_t> byOffset; ///< numbers of weights, ascending in the file
  std::map<size_t, WindowedWeight> windowed;
  std::vector<Copy> pieces;
};

} // namespace heddle::vulkan
