//===- Graph.h - Data-flow graph of a model --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph of `heddle inspect --graph`: ops of a function, values between them, and layers.
// Consecutive layers with equal ops and shapes are drawn once, with their number.
#pragma once

#include "heddle/Support/SizeExpr.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace heddle {

struct GraphNode {
  enum class Kind : uint8_t { Input, Op, Output } kind = Kind::Op;
  std::string label, shape;
  std::string layer;          ///< "encoder.0"; empty: not in a layer
  std::vector<size_t> inputs; ///< earlier nodes, each once
};

struct GraphLayer {
  std::string label; ///< "encoder.0 to encoder.5, 6 times"
  std::string layer;
};

struct FunctionGraph {
  std::string name;
  std::vector<GraphNode> nodes; ///< in the order of the function
  std::vector<GraphLayer> layers;
};

/// Graphs of a module's functions at the fused stage. Functions that repeat the computation of
/// another one are omitted: functions that use states, if there are others, and functions over
/// packed texts.
std::vector<FunctionGraph> modelGraph(mlir::ModuleOp fused, const Dimensions &dims);

/// Draws functions next to each other, with arrows from results to inputs with equal names in later
/// functions.
std::string graphSvg(const std::vector<FunctionGraph> &functions);

} // namespace heddle
