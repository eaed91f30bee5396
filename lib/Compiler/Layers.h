//===- Layers.h - Where in a model a value belongs -------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Questions that hold before and after grouping: a compiled file keeps its groups
// and no locations, so layers are told by the names of weights.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Value.h"

#include <string>
#include <vector>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace heddle {

namespace kernel {
class GroupOp;
} // namespace kernel

namespace transformer {
class AttentionOp;
} // namespace transformer

/// The value behind groups' borders.
mlir::Value behindGroups(mlir::Value value);

/// "decoder.3" or "decoder.3.cross" from the weight of the queries' projection; empty where it has
/// another name.
std::string layerOf(transformer::AttentionOp attention);

/// The name of the weight that a value is; empty if it is none.
llvm::StringRef weightName(mlir::Value value);
/// "encoder.3" of "encoder.3.ffn.in.weight", else all but the last part: "source.embedding" of
/// "source.embedding.weight".
std::string layerOfWeight(llvm::StringRef name);
/// The same for the weight of a linear; a classifier whose weight is an embedding's is "classifier".
std::string layerOfLinear(llvm::StringRef name);

/// The groups of a function at the fused stage, in order, and the layer of each: that of its
/// weights, of an attention that of its queries, of what has none that of the group before.
std::vector<std::pair<kernel::GroupOp, std::string>> layersOf(mlir::func::FuncOp function);

} // namespace heddle
