//===- Layers.h - The parts of a model that ops are of ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Import names each op by its location ("encoder.0.attention"), passes keep locations,
// and a compiled file keeps the names. The questions hold before and after grouping.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace heddle {

namespace kernel {
class GroupOp;
} // namespace kernel

/// The value behind groups' borders, and behind ops that `isPassed`: the value of their first
/// operands.
mlir::Value behindGroups(mlir::Value value,
                         llvm::function_ref<bool(mlir::Operation *)> isPassed = nullptr);

/// The name of the weight that a value is; empty if it is none.
llvm::StringRef weightName(mlir::Value value);

/// The part of the model that an op is of; empty where import gave it no name.
llvm::StringRef partOf(mlir::Operation *op);
/// The layer of a part: up to its first number, "encoder.0" of "encoder.0.attention", else all of
/// it.
llvm::StringRef layerOf(llvm::StringRef part);
/// "encoder" and 3 of the layer "encoder.3".
std::optional<std::pair<llvm::StringRef, int64_t>> numbered(llvm::StringRef layer);

/// The groups of a function at the fused stage, in order, and the layer of each: of projections
/// that share a launch the layers of all; where nothing has a name, that of the group.
std::vector<std::pair<kernel::GroupOp, std::string>> layersOf(mlir::func::FuncOp function);

/// Items of a list that follow each other and are of one layer.
struct LayerItems {
  std::string layer;
  size_t begin, end;
  size_t like; ///< the first of the layers before it that are equal to it; itself where none is
};

using EqualItems = llvm::function_ref<bool(size_t a, size_t b)>;

/// `layers` names the layer of each item. Layers are equal where they follow each other, with
/// numbers that do, and `equal` says so of their items in turn.
std::vector<LayerItems> layerItems(llvm::ArrayRef<std::string> layers, EqualItems equal);

/// The text of all items, equal layers once; of the others `repeat` makes a line from
/// "encoder.1 … encoder.11: as encoder.0".
std::string eachLayerOnce(llvm::ArrayRef<std::string> layers, EqualItems equal,
                          llvm::function_ref<std::string(size_t item)> text,
                          llvm::function_ref<std::string(const std::string &)> repeat);

} // namespace heddle
