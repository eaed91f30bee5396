//===- ModelBuilder.h - From a description to the dialect ------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a description says becomes functions of the transformer dialect here, once
// and for all: everything behind it reads the dialect, and nothing reads the
// description again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Description.h"

#include "heddle/Pack/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle {

/// Writes the functions of docs/model-description.md; `tensors` receives the tensors that they
/// read, in order.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> buildModel(const Description &description,
                                                       mlir::MLIRContext &context,
                                                       std::vector<TensorInfo> &tensors);

} // namespace heddle
