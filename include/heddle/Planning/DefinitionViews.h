//===- DefinitionViews.h - Arguments of a definition as views --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The views and scalars that a kernel.def's layouts describe. Planning and
// tiling read shapes, element types and storage from here.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Support/Formats.h"

namespace heddle {

class DefinitionViews {
public:
  /// `def` has scalars and layouts: the form that outline-kernels writes.
  explicit DefinitionViews(kernel::DefOp def);

  kernel::DefOp def;

  /// Views of arguments come first, then views of results.
  unsigned numViews() const { return types.size(); }
  kernel::ViewType viewType(unsigned index) const { return types[index]; }
  /// The view of an argument of `def`.
  kernel::ViewType viewTypeOf(mlir::Value argument) const { return types[viewOf(argument)]; }
  /// Describes the same memory by other dimensions.
  void setDims(unsigned view, llvm::ArrayRef<kernel::ViewDim> dims);
  /// Index of an argument's view; -1 for scalars.
  int64_t viewOf(mlir::Value argument) const { return argumentOf(argument).view; }
  /// Index of the first result's view.
  unsigned firstResult() const { return resultStart; }
  bool isWeight(unsigned view) const;
  /// Rows of the grid over the tiles of documents whose starts are `argument`.
  kernel::Size slots(mlir::Value argument) const { return argumentOf(argument).layout.getSlots(); }

  /// Elements of an argument in memory.
  DType elementOf(mlir::Value argument) const;
  /// Size of the last dimension, which is static.
  int64_t featuresOf(mlir::Value argument) const;
  /// The number format of a product of two arguments, null: there is no such product.
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

/// The values that a definition computes for its results before they are rounded, since stores
/// round. A definition may yield a value in both forms.
llvm::SmallVector<mlir::Value> yieldedValues(kernel::DefOp def);

} // namespace heddle
