//===- Graph.h - A model as boxes and arrows -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `heddle inspect --graph` draws: the ops of a function that do work, the values
// that flow between them, and layers. Layers that follow each other and have the same
// ops over the same shapes are one, with their number beside it.
#pragma once

#include "heddle/Support/SizeExpr.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace heddle {

struct GraphNode {
  enum class Kind : uint8_t { Input, Op, Output } kind = Kind::Op;
  std::string label, shape;
  std::string layer;          ///< "encoder.0"; empty: of none
  std::vector<size_t> inputs; ///< nodes before this one, each once
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

/// Functions of a module at the fused stage; those that work on a session's states are left out
/// where there are others.
std::vector<FunctionGraph> modelGraph(mlir::ModuleOp fused, const Dimensions &dims);

/// Functions side by side; a result that another function takes is joined with it.
std::string graphSvg(const std::vector<FunctionGraph> &functions);

} // namespace heddle
