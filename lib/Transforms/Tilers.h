//===- Tilers.h - Models of TileableOpInterface ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model of an op says with which root it begins a kernel and which function
// writes the body; it overrides what else the op answers otherwise than most.
#pragma once

#include "Tiling.h"

#include "heddle/Transforms/TileableOpInterface.h"

namespace heddle {

/// An op that begins kernels around `root`, whose bodies `write` writes.
template <typename Model, typename Op, kernel::Root root,
          mlir::LogicalResult (*write)(KernelBuilder &)>
struct Tiler : TileableOpInterface::ExternalModel<Model, Op> {
  std::optional<kernel::Root> getRoot(mlir::Operation *) const { return root; }
  mlir::LogicalResult tile(mlir::Operation *, KernelBuilder &frame) const { return write(frame); }
};

/// Whether one of `ops` is an `Op`.
template <typename Op>
bool has(llvm::ArrayRef<mlir::Operation *> ops) {
  return llvm::any_of(ops, llvm::IsaPred<Op>);
}

/// Linears and the heads that they are cut into (TileLinear.cpp).
void attachLinearTilers(mlir::MLIRContext *context);
/// What is computed row by row (TileRows.cpp): embeddings and positions; ops of `arith`.
void attachRowTilers(mlir::MLIRContext *context);
void attachSumTilers(mlir::MLIRContext *context);

} // namespace heddle
