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

namespace heddle {

namespace transformer {
class AttentionOp;
} // namespace transformer

/// The value behind groups' borders.
mlir::Value behindGroups(mlir::Value value);

/// "decoder.3" or "decoder.3.cross" from the weight of the queries' projection; empty where it has
/// another name.
std::string layerOf(transformer::AttentionOp attention);

} // namespace heddle
