//===- ShapeTrace.h - Shapes along the data flow ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces of shapes, for `heddle inspect`: a line for each sublayer that changes a shape.
//
//   encoder.0.attention  [1,10,512] → [1,10,512] → [1,8,10,64] → [1,10,512]
//
// The shapes here are input, projected queries, their heads, and output. Norms, positions and
// additions keep shapes and have no line.
#pragma once

#include "heddle/Analysis/ShapeExpressions.h"

namespace heddle {

/// Text of a shape at `dims`: "[1,10,512]". Sizes with unknown dimensions are expressions:
/// "[B,S,512]".
std::string traceText(const Shape &shape, const Dimensions &dims);

struct TraceLine {
  std::string name;
  std::vector<Shape> shapes;
};

/// Lines of a function at the fused stage, in order.
std::vector<TraceLine> shapeTrace(mlir::func::FuncOp function);

} // namespace heddle
