//===- KernelWindow.cpp - The weight that a kernel may see in part ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the two forms of KernelWindow.h. A kernel of any other form has no
// window.

#include "heddle/Dialect/Kernel/IR/KernelWindow.h"

using namespace mlir;
using namespace heddle::kernel;

namespace heddle::kernel {

/// Argument number of the weight that `view` is, or -1 if it is no weight of `func`.
static int64_t weightNumber(FuncOp func, Value view) {
  auto argument = dyn_cast<BlockArgument>(view);
  if (!argument || argument.getOwner() != &func.getBody().front() ||
      argument.getArgNumber() >= func.getNumViews() || !func.isWeight(argument.getArgNumber()))
    return -1;
  return argument.getArgNumber();
}

static std::optional<WeightWindow> windowOfProduct(FuncOp func, ProductOpInterface product) {
  const int64_t argument = weightNumber(func, product.getRhs()), axis = func.getNumAxes() - 1;
  const bool isAxis = axis >= 0 && product.getRhsIndex() == func.getGridIndex(axis) &&
                      func.getGridSize(axis).isStatic();
  if (argument < 0 || !isAxis || product.isOverRows())
    return std::nullopt;
  return WeightWindow{argument, axis};
}

static int64_t rowsOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getDimSize(0); }

static std::optional<WeightWindow> windowOfGathers(FuncOp func) {
  std::optional<WeightWindow> window;
  int64_t most = 0, rows = 0;
  func.walk([&](GatherOp gather) {
    auto type = cast<ViewType>(gather.getView().getType());
    const int64_t argument = weightNumber(func, gather.getView());
    if (argument < 0 || !type.getDim(0).extent.isStatic() || type.getDim(0).extent.value <= most)
      return;
    most = type.getDim(0).extent.value;
    rows = rowsOf(gather.getRows());
    window = WeightWindow{argument};
  });
  WalkResult stores = func.walk([&](StoreOpInterface store) {
    return rowsOf(store.getTile()) == rows ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !window || stores.wasInterrupted() || !gatheredRows(func, *window) ? std::nullopt : window;
}

std::optional<WeightWindow> windowOf(FuncOp func) {
  SmallVector<ProductOpInterface> products;
  func.walk([&](ProductOpInterface product) { products.push_back(product); });
  if (products.empty())
    return windowOfGathers(func);
  if (products.size() > 1 || func.hasParts())
    return std::nullopt;
  return windowOfProduct(func, products.front());
}

/// Returns null if several gathers read the table by different rows.
Value gatheredRows(FuncOp func, const WeightWindow &window) {
  Value rows;
  WalkResult walked = func.walk([&](GatherOp gather) {
    if (gather.getView() != func.getView(window.argument))
      return WalkResult::advance();
    if (rows && rows != gather.getRows())
      return WalkResult::interrupt();
    rows = gather.getRows();
    return WalkResult::advance();
  });
  return walked.wasInterrupted() ? Value() : rows;
}

} // namespace heddle::kernel
