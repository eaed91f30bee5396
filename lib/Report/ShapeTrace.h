//===- ShapeTrace.h - Shapes as data passes a model ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line a sublayer that changes a shape, for `heddle inspect`:
//
//   encoder.0.attention  [1,10,512] → [1,10,512] → [1,8,10,64] → [1,10,512]
//
// Input, projected queries, their heads, output. Norms, positions and additions keep
// a shape and have no line.
#pragma once

#include "heddle/Analysis/ShapeExpressions.h"

namespace heddle {

/// "[1,10,512]"; sizes whose dimensions are not in `dims` as expressions: "[B,S,512]".
std::string traceText(const Shape &shape, const Dimensions &dims);

struct TraceLine {
  std::string name;
  std::vector<Shape> shapes;
};

/// The lines of a function at the fused stage, in order.
std::vector<TraceLine> shapeTrace(mlir::func::FuncOp function);

} // namespace heddle
