//===- Layers.h - Layers of a model ----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers of a model, which are found by the names of locations (Analysis/ModelParts.h). All functions
// work before and after grouping.
#pragma once

#include "heddle/Analysis/ModelParts.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace heddle {

namespace kernel {
class GroupOp;
} // namespace kernel

/// Source of a value: looks through arguments and results of groups, and through ops for which
/// `isPassed` holds to their first operands.
mlir::Value behindGroups(mlir::Value value,
                         llvm::function_ref<bool(mlir::Operation *)> isPassed = nullptr);

/// Name of the weight that is the source of a value; empty if there is none.
llvm::StringRef weightName(mlir::Value value);

/// Groups of a function at the fused stage, in order, with the layer of each: all layers of
/// projections that share a launch. If no part has a name, the layer is the group's name.
std::vector<std::pair<kernel::GroupOp, std::string>> layersOf(mlir::func::FuncOp function);

/// Consecutive items [begin, end) of a list that belong to one layer.
struct LayerItems {
  std::string layer;
  size_t begin, end;
  size_t like; ///< index of the first equal layer, which may be this one
};

using EqualItems = llvm::function_ref<bool(size_t a, size_t b)>;

/// Divides items into layers, given the layer of each. A layer equals the previous one if their
/// numbers are consecutive and `equal` holds for corresponding items.
std::vector<LayerItems> layerItems(llvm::ArrayRef<std::string> layers, EqualItems equal);

/// Concatenates the texts of all items; equal layers appear once. `repeat` turns "encoder.1 …
/// encoder.11: as encoder.0" into the line for the others.
std::string eachLayerOnce(llvm::ArrayRef<std::string> layers, EqualItems equal,
                          llvm::function_ref<std::string(size_t item)> text,
                          llvm::function_ref<std::string(const std::string &)> repeat);

} // namespace heddle
