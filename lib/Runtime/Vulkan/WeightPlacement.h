//===- WeightPlacement.h - Placement of weights on a device -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places weights so that each launch addresses them through one window of at most
// maxStorageBufferRange bytes. Weights keep the layout of the file if the weights of each launch
// fit into a window. If they do not, the largest of them moves after all others, together with
// copies of the weights that share a launch with it. If it is still too large, it is cut into
// parts, each after its own copies:
//
//   [others …][beside | rows 0 … 999][beside | rows 1000 … 1999] …
//
// A launch then runs once per part: over the columns that correspond to its rows (a product), or
// storing only the rows in the part (a gather). See VulkanVariant::windowed.
#pragma once

#include "heddle/Support/Program.h"

#include <map>

namespace heddle::vulkan {

/// Rows of a weight and the window that holds them, in bytes of the device's buffer.
struct WeightPart {
  int64_t firstRow = 0, rows = 0; ///< 0 rows: the window holds all of them
  int64_t begin = 0;              ///< begin of the window
  int64_t origin = 0;             ///< place of row 0; may be below the window
};

/// A weight with its own windows.
struct WindowedWeight {
  std::vector<WeightPart> parts;
  std::map<size_t, int64_t> beside; ///< other weights, with their places relative to a window's
                                    ///< begin
};

/// Places of a program's weights in a device's buffer.
class WeightPlacement {
public:
  struct Copy {
    int64_t from, to, bytes;
  };

  /// A kernel's chosen variant, and its form for few rows; null: not on this device.
  using Forms = std::array<const VulkanVariant *, 2>;

  /// `variants` belong to the program's kernels. A weight that cannot be placed within `limit`
  /// keeps its place in the file, and launches that need it fail.
  WeightPlacement(const Program &program, std::span<const Forms> variants, int64_t limit);

  int64_t bytes() const { return size; }
  /// The copies that upload the weights of the file.
  const std::vector<Copy> &copies() const { return pieces; }
  /// Whether all weights have the layout of the file.
  bool isPlain() const { return plain; }
  /// Number of the weight at an offset in the file.
  size_t weightAt(int64_t offset) const;
  /// Windows of a weight; null if it is at place(weight).
  const WindowedWeight *windowsOf(size_t weight) const;
  int64_t place(size_t weight) const { return places[weight]; }

private:
  /// A launch: its kernel and the weights that it reads.
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
  std::vector<char> moved;      ///< by weight: whether it gets its own windows
  std::vector<size_t> byOffset; ///< numbers of weights, ascending in the file
  std::map<size_t, WindowedWeight> windowed;
  std::vector<Copy> pieces;
};

} // namespace heddle::vulkan
