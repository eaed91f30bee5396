//===- Tilers.h - Models of TileableOpInterface -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Base class of the models: the root with which an op begins a kernel, and the function that writes
// the body. A model overrides the other methods of the interface as needed.
#pragma once

#include "Tiling.h"

#include "heddle/Transforms/TileableOpInterface.h"

namespace heddle {

/// Model of an op that begins kernels around `root`; `write` writes their bodies.
template <typename Model, typename Op, kernel::Root root,
          mlir::LogicalResult (*write)(KernelBuilder &)>
struct Tiler : TileableOpInterface::ExternalModel<Model, Op> {
  std::optional<kernel::Root> getRoot(mlir::Operation *) const { return root; }
  mlir::LogicalResult tile(mlir::Operation *, KernelBuilder &frame) const { return write(frame); }
};

/// Whether `ops` contains an `Op`.
template <typename Op>
bool has(llvm::ArrayRef<mlir::Operation *> ops) {
  return llvm::any_of(ops, llvm::IsaPred<Op>);
}

/// Position of `row` of `sequence`: the row plus the sequence's offset, if each sequence has one.
/// Tables already begin at an offset that all sequences share.
mlir::Value firstPosition(KernelBuilder &f, mlir::Value offset, mlir::Value sequence,
                          mlir::Value row);

/// Linears, and the heads that they are split into (TileLinear.cpp).
void attachLinearTilers(mlir::MLIRContext *context);
/// Ops that are computed row by row (TileRows.cpp): embeddings and positions; ops of `arith`.
void attachRowTilers(mlir::MLIRContext *context);
void attachSumTilers(mlir::MLIRContext *context);

} // namespace heddle
