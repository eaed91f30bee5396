//===- KernelWindow.h - Kernels on a part of a weight's rows ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds kernels that can run on a part of a large weight's rows at a time, for
// devices whose kernels can bind only a limited number of bytes of a buffer.
// The structure of the body decides.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

namespace heddle::kernel {

/// A weight that a kernel reads by some rows at a time.
struct WeightWindow {
  /// Number of the weight among the kernel's arguments.
  int64_t argument;
  /// Axis of the grid that iterates over the rows. -1: a gather reads one table row for each row
  /// that the kernel writes, so the kernel can skip rows whose table rows are outside the window.
  int64_t axis = -1;
};

/// The window of a kernel, if it has one. The weight is the right operand of the only product, if
/// its columns are an axis of the grid; in a kernel without products it is the largest table of its
/// gathers.
std::optional<WeightWindow> windowOf(FuncOp func);

/// The rows by which gathers read the table of a window without an axis; null if they differ.
mlir::Value gatheredRows(FuncOp func, const WeightWindow &window);

} // namespace heddle::kernel
