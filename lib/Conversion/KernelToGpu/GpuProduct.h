//===- GpuProduct.h - One contraction of an invocation ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What GpuContract.cpp and GpuNibbles.cpp share.
#pragma once

#include "GpuEmitter.h"

namespace heddle {

inline constexpr int64_t kUnroll = 4; ///< k of a quad of the left side

/// What the loops over k of one contraction have in common.
struct GpuEmitter::Product {
  kernel::Fragment shape;
  mlir::Value end; ///< how many k
  kernel::BoundView right;
  llvm::SmallVector<kernel::Place> rightPlaces;
  int64_t rightStep = 0;                 ///< elements from k to k + 1
  std::optional<kernel::BoundView> left; ///< none: the staged tile
  mlir::Value leftStart;
  int64_t leftPitch = 0;                        ///< of the view, or columns of the staged tile
  int64_t unroll = kUnroll;                     ///< steps of the main loop, a multiple of kUnroll
  bool skipHidden = false;                      ///< leave out 0 * w where w is not finite
  int64_t word = 1;                             ///< features in a step of k
  bool oddFirst = false;                        ///< steps in pairs
  mlir::Value zero;                             ///< what sums begin with
  bool halves = false;                          ///< panels of f16, two steps of k in a word
  bool nibbles = false;                         ///< panels of i4, eight steps of k in a word
  llvm::SmallVector<kernel::Place> scalePlaces; ///< of i4, like rightPlaces
};

} // namespace heddle
