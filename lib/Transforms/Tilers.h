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

/// A model with only a root and a writer.
template <typename Op, kernel::Root root, mlir::LogicalResult (*write)(KernelBuilder &)>
struct PlainTiler : Tiler<PlainTiler<Op, root, write>, Op, root, write> {};

template <typename Op, kernel::Root root, mlir::LogicalResult (*write)(KernelBuilder &)>
void attach(mlir::MLIRContext *context) {
  Op::template attachInterface<PlainTiler<Op, root, write>>(*context);
}

/// Whether `ops` contains an `Op`.
template <typename Op>
bool has(llvm::ArrayRef<mlir::Operation *> ops) {
  return llvm::any_of(ops, llvm::IsaPred<Op>);
}

/// Position of `row` of `sequence`: the row plus the sequence's offset, if each sequence has one.
/// Tables already begin at an offset that all sequences share.
mlir::Value firstPosition(KernelBuilder &f, mlir::Value offset, mlir::Value sequence,
                          mlir::Value row);

/// Model of an op that is computed row by row.
template <typename Model, typename Op, kernel::Root root = kernel::Root::Elementwise>
using RowModel = Tiler<Model, Op, root, tileElementwise>;

/// Whether an elementwise op can follow `before`: a linear, sums, or the gradient of a norm.
bool canFollowRows(kernel::Root root, llvm::ArrayRef<mlir::Operation *> before);

/// An elementwise op.
template <typename Model, typename Op>
struct ElementModel : RowModel<Model, Op> {
  bool canFollow(mlir::Operation *, kernel::Root root,
                 llvm::ArrayRef<mlir::Operation *> before) const {
    return canFollowRows(root, before);
  }
};

/// Tiles of the first two operands of `op`. Computes an operand that is not an argument first, so
/// that the other operand's loaded tile occupies no registers meanwhile.
mlir::FailureOr<std::pair<mlir::Value, mlir::Value>> tilesOfOperands(mlir::Operation *op,
                                                                     ValueTiles &tiles);

/// Limits the last dimension of `value`, which must fit in one tile.
mlir::LogicalResult checkFeatures(mlir::Operation *op, mlir::Value value, llvm::StringRef what,
                                  int64_t most);

/// Attention (TileAttention.cpp).
void attachAttentionTilers(mlir::MLIRContext *context);
/// Linears, and the heads that they are split into (TileLinear.cpp).
void attachLinearTilers(mlir::MLIRContext *context);
/// Ops that are computed row by row (TileRows.cpp): embeddings and positions; ops of `arith`.
void attachRowTilers(mlir::MLIRContext *context);
void attachSumTilers(mlir::MLIRContext *context);
/// Activations and gradients of elementwise functions (TileActivations.cpp).
void attachActivationTilers(mlir::MLIRContext *context);
/// Feature maps and their places (TileMaps.cpp).
void attachMapTilers(mlir::MLIRContext *context);
/// Dropout, and the numbers of its rows (TileRowNumbers.cpp).
void attachDropoutTilers(mlir::MLIRContext *context);
/// Routers and mixtures of experts (TileExperts.cpp).
void attachExpertTilers(mlir::MLIRContext *context);
/// Ops that add to the gradients of weights (TileWeightGradients.cpp).
void attachWeightGradientTilers(mlir::MLIRContext *context);
/// Ops of an optimizer (TileUpdate.cpp).
void attachUpdateTilers(mlir::MLIRContext *context);

} // namespace heddle
