//===- DefinitionViews.h - Arguments of a definition as views --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The views and scalars that the layouts of a kernel.def describe. Planning and
// tiling read shapes, element types and storage from them.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Support/Formats.h"

namespace heddle {

/// The views of a definition's arguments and results.
class DefinitionViews {
public:
  /// Requires a definition with scalars and layouts, as outline-kernels writes it.
  explicit DefinitionViews(kernel::DefOp def);

  kernel::DefOp def;

  /// Views of arguments come first, then views of results.
  unsigned numViews() const { return types.size(); }
  kernel::ViewType viewType(unsigned index) const { return types[index]; }
  /// The view of an argument of `def`.
  kernel::ViewType viewTypeOf(mlir::Value argument) const { return types[viewOf(argument)]; }
  /// Replaces the dimensions of a view of the same memory.
  void setDims(unsigned view, llvm::ArrayRef<kernel::ViewDim> dims);
  /// Replaces a view of a matrix in panels by the view of the transposed matrix.
  void transpose(unsigned view);
  /// Index of the view of an argument; -1 for scalars.
  int64_t viewOf(mlir::Value argument) const { return argumentOf(argument).view; }
  /// Index of the first result's view.
  unsigned firstResult() const { return resultStart; }
  bool isWeight(unsigned view) const;
  /// Rows of the grid over the tiles of documents whose starts are `argument`.
  kernel::Size slots(mlir::Value argument) const { return argumentOf(argument).layout.getSlots(); }

  /// Element type of an argument in memory.
  DType elementOf(mlir::Value argument) const;
  /// Size of the last dimension, which is static.
  int64_t featuresOf(mlir::Value argument) const;
  /// Number format of the product of two arguments; null if no product takes their element types.
  const NumberFormat *productOf(mlir::Value rows, mlir::Value weights) const;

protected:
  struct Argument {
    kernel::LayoutAttr layout;
    int64_t view;
  };
  const Argument &argumentOf(mlir::Value argument) const;

  llvm::SmallVector<Argument> arguments, results;
  llvm::SmallVector<kernel::ViewType> types;
  llvm::SmallVector<mlir::Attribute> storage; ///< #kernel.storage of each view

private:
  Argument describe(kernel::LayoutAttr layout);
  unsigned resultStart = 0;
};

/// The values of a definition's results before they are rounded, since stores round. A definition
/// may yield the same value rounded and unrounded.
llvm::SmallVector<mlir::Value> yieldedValues(kernel::DefOp def);

} // namespace heddle
