//===- GpuRuns.h - Runs of elementwise ops, depth first ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of elementwise ops. Op by op over a whole fragment, what one op leaves
// for the next are as many registers as the fragment has, and drivers spill
// them. A run goes through all its ops with one register of the fragment, then
// with the next, reads of a table what that register needs, and stores a row when it is done:
//
//   t = x + bias ; y = gelu(t) ; store y   ->   for each row { for each register
//                                               { x + bias, gelu } ; store row }
//
// Masks choose a row's registers before the next row's truths are there, which drivers
// keep in scalar registers and spill.
#pragma once

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle {

class GpuEmitter;

/// The runs of the kernel that is being emitted.
class GpuRuns {
public:
  explicit GpuRuns(GpuEmitter &emitter) : e(emitter) {}

  /// Emits the run that `ops` begin with; returns how many of them it took, 0 if they begin with
  /// none.
  mlir::FailureOr<size_t> emit(llvm::ArrayRef<mlir::Operation *> ops);
  /// Emits a mask's choice row by row, as `BodyEmitter::emitChoice` does for the whole tile.
  mlir::LogicalResult emitChoice(kernel::MaskOp op, const kernel::Fragment &tile, mlir::Value other,
                                 llvm::SmallVectorImpl<mlir::Value> &chosen);
  /// Whether a slice is being emitted.
  bool isInside() const { return outside; }
  /// The registers of the current slice of a tile, or null if its fragment is not known.
  const kernel::Fragment *sliced(mlir::Value tile);

private:
  using Fragments = llvm::DenseMap<mlir::Value, kernel::Fragment>;
  /// A part of the fragments: some rows, and some registers of each or all.
  struct Slice {
    int64_t firstRow, rows;
    int64_t vector; ///< the first register; -1: all
    int64_t vectors = 1;
  };
  struct Run {
    llvm::SmallVector<mlir::Operation *> before, compute, stores;
    llvm::SmallPtrSet<mlir::Operation *, 16> members;
    size_t taken = 0;
    int64_t vectors = 1; ///< registers of a slice
  };

  bool isMember(mlir::Operation &op, llvm::ArrayRef<int64_t> shape, const Run &run) const;
  Run collect(llvm::ArrayRef<mlir::Operation *> ops) const;
  mlir::LogicalResult emitRun(const Run &run);
  mlir::LogicalResult loadSharedRows(mlir::Operation &op);
  mlir::LogicalResult emitRows(const Run &run, const kernel::Fragment &shape, int64_t first,
                               int64_t rows, Fragments &results);
  mlir::LogicalResult inSlice(Slice slice, llvm::function_ref<mlir::LogicalResult()> body);

  GpuEmitter &e;
  /// Fragments outside of the slice that is being emitted.
  const Fragments *outside = nullptr;
  Slice slice = {};
};

} // namespace heddle
