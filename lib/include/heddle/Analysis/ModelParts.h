//===- ModelParts.h - Parts and layers of a model --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of parts of a model. Import gives each op a named location, the part of the model
// ("encoder.0.attention"). Passes keep locations, and compiled files keep the names.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include <optional>

namespace heddle {

/// Part of the model to which an op belongs, the first name in its location: "encoder.0.attention".
/// Null for ops of dialect text, unless the text has `loc("encoder.0.attention")`.
mlir::StringAttr partOf(mlir::Location location);
/// Role of the op in its part, such as "keys" or "values" of an attention: the name inside the
/// part's. Null for other ops.
mlir::StringAttr roleOf(mlir::Location location);
/// Location of an op with this part, and with this role unless it is null.
mlir::Location named(mlir::StringAttr part, mlir::StringAttr role);

/// Part of the model that an op belongs to; empty if its location has no name.
llvm::StringRef partOf(mlir::Operation *op);
/// Layer of a part: its name up to the first number, "encoder.0" for "encoder.0.attention", or the
/// whole name.
llvm::StringRef layerOf(llvm::StringRef part);
/// Name and number of a layer: "encoder" and 3 for "encoder.3".
std::optional<std::pair<llvm::StringRef, int64_t>> numbered(llvm::StringRef layer);

} // namespace heddle
