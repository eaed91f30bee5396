//===- KernelWindow.h - The weight that a kernel may see in part -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device whose kernels see only so many bytes of a buffer runs a kernel on a part of
// a large weight's rows at a time. The structure of the body tells whether it can.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

namespace heddle::kernel {

/// The weight of which a kernel needs only some rows at a time.
struct WeightWindow {
  int64_t argument;
  /// Axis of the grid whose points go through the rows; -1: a gather takes a row for each row that the
  /// kernel writes, so that it can leave out those whose table rows are not in the window.
  int64_t axis = -1;
};

/// The window of a kernel, if it has one: the weight of its only product, whose columns are an axis
/// of the grid; or else the largest table of its gathers.
std::optional<WeightWindow> windowOf(FuncOp func);

/// The rows by which gathers read the table of a window without an axis.
mlir::Value gatheredRows(FuncOp func, const WeightWindow &window);

} // namespace heddle::kernel
