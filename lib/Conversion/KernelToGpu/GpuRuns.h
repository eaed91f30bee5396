//===- GpuRuns.h - Runs of elementwise ops, depth first ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits runs of elementwise ops depth first. Emitted one by one, each op leaves a whole
// fragment of registers for the next, and drivers spill them. A run computes all its
// ops for one register of the fragment, then for the next, and stores each complete row.
// Table rows are gathered register by register as well:
//
//   t = x + bias ; y = gelu(t) ; store y   ->   for each row { for each register
//                                               { x + bias, gelu } ; store row }
//
// Masks are applied row by row, because drivers keep predicates in scalar registers and
// spill them.
#pragma once

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle {

class GpuEmitter;

/// The runs of the kernel that is being emitted.
class GpuRuns {
public:
  explicit GpuRuns(GpuEmitter &emitter) : e(emitter) {}

  /// Emits the run at the start of `ops`; returns the number of its ops, or 0 if there is none.
  mlir::FailureOr<size_t> emit(llvm::ArrayRef<mlir::Operation *> ops);
  /// Emits a mask's choice row by row, as `BodyEmitter::emitChoice` does for the whole tile.
  mlir::LogicalResult emitChoice(kernel::MaskOp op, const kernel::Fragment &tile, mlir::Value other,
                                 llvm::SmallVectorImpl<mlir::Value> &chosen);
  /// Whether a slice is being emitted.
  bool isInside() const { return outside; }
  /// Registers of a tile in the current slice, or null if the tile has no fragment.
  const kernel::Fragment *sliced(mlir::Value tile);

private:
  using Fragments = llvm::DenseMap<mlir::Value, kernel::Fragment>;
  /// A part of fragments: some rows, and some or all registers of each.
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
  /// Fragments outside the slice that is being emitted; null: there is no slice.
  const Fragments *outside = nullptr;
  Slice slice = {};
};

} // namespace heddle
