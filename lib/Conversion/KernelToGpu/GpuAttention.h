//===- GpuAttention.h - Attention through matrix units ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file computes both products of an attention on matrix units
// (VK_KHR_cooperative_matrix). Each subgroup has some of the tile's queries, and all
// subgroups share a chunk of keys:
//
//   before the loop   Queries become matrices that stay in registers, or in workgroup
//                     memory if there are many features. Queries of f32 are scaled and
//                     rounded like rows of linear layers.
//   scores            A chunk of keys is staged. Scores are stored to the subgroup's strip of
//                     workgroup memory, where two invocations read each row.
//   softmax           Ops are emitted one by one, on each invocation's elements of its row.
//   weighted values   Values are staged over the keys. Weights are stored to the strip as
//                     f16 or bf16.
//   merging           Sums of values stay matrices during the loop. Factors of their rows
//                     become matrices by loads with a stride of 0.
//   after the loop    Sums move through the strip to the invocations of their rows. The number
//                     of columns at a time is the number of keys in a chunk.
//
// The two invocations of a row take turns of eight columns. One of them has lanes 0 to 7 of
// the sixteen lanes of a sum, the other has lanes 8 to 15.
//
// A non-finite value makes the sums of all rows NaN, even if a row's weight for it is zero.
// The loop then runs again with zeros in place of non-finite values, and adds their
// products to the rows that have a weight for them.
#pragma once

#include "GpuAttentionTile.h"

namespace heddle {

/// Adds the shape of the matrix unit to the placement of an attention tiled for matrix units.
mlir::LogicalResult placeAttention(kernel::FuncOp func, const GpuTarget &target,
                                   GpuPlacement &placement);

/// Emits the attention of one kernel: its loop, the softmax, and the sums of weighted values.
class GpuAttention {
public:
  GpuAttention(GpuEmitter &emitter, kernel::FuncOp func);

  bool isLoop(mlir::scf::ForOp op) const { return op == loop; }
  /// Emits the loop over chunks of keys, and the code before and after it.
  mlir::LogicalResult emitLoop();
  mlir::FailureOr<kernel::Fragment> emitProduct(kernel::ProductOpInterface op);
  mlir::FailureOr<kernel::Fragment> emitReduce(kernel::ReduceOp op);

  /// Whether a tile's registers are matrices: sums of weighted values inside the loop.
  bool holds(mlir::Value value) const { return matrices.contains(value); }
  /// Whether `emitElementwise` emits an op on tiles.
  bool takes(mlir::Operation &op) const {
    return isFolded(op) ||
           (mlir::isa<mlir::arith::MulFOp, mlir::arith::AddFOp>(op) && holds(op.getResult(0)));
  }
  mlir::LogicalResult emitElementwise(mlir::Operation &op);
  /// Stores a tile of matrices to the variables that carry it through the loop.
  mlir::LogicalResult carry(mlir::Value value);
  /// Loads a tile of matrices from these variables.
  void carried(mlir::Value value);

private:
  using Registers = AttentionTile::Registers;

  void findMatrices();
  void findScaling();
  bool knowsValues();
  /// Whether the effect of an op is part of another op.
  bool isFolded(mlir::Operation &op) const { return &op == scaling || &op == rounding; }
  mlir::FailureOr<kernel::Fragment> numbersOf(mlir::Value value);
  Registers factors(const kernel::Fragment &numbers, int64_t slot);
  Registers readSums(llvm::ArrayRef<mlir::Value> all);
  mlir::Value isAnywhere(mlir::Value condition);
  void hoistInvariants();
  mlir::LogicalResult runOnce(Registers &results, mlir::Value pass);

  GpuEmitter &e;
  mlir::OpBuilder &builder;
  mlir::Location &loc;
  AttentionTile tile;
  AttentionStaging staging{tile};
  AttentionScores scores{tile, staging};
  AttentionValues values{tile, staging};
  mlir::scf::ForOp loop;
  unsigned carriedTile = 0; ///< index of the tile of sums among the loop's carried values
  llvm::DenseSet<mlir::Value> matrices;
  Registers sums; ///< variables
  /// Multiplication of scores by a constant, which row scales include; may be null.
  mlir::Operation *scaling = nullptr;
  std::optional<float> factor; ///< the constant
  /// Rounding of weights to bf16, which is part of storing them; may be null.
  mlir::Operation *rounding = nullptr;
  bool valuesAreStaged = false; ///< whether values are staged before scores are known
};

} // namespace heddle
