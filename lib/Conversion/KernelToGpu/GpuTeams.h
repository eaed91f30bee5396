//===- GpuTeams.h - Chunks of keys by teams of a workgroup ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of one query has one row, which cannot be shared by many invocations.
// Its chunks can: each is a softmax of its own, and only the sums that they are
// merged into follow one another. So a workgroup is some teams of invocations, of
// which each takes a chunk at a time:
//
//   for c in chunks step teams        ops that read nothing that the loop carries:
//     chunk c + team                  the team's own chunk
//     workgroup memory                what the others read of it
//     for t in teams                  ops that read what the loop carries:
//       merge chunk c + t             the first team, in ascending order
//
// The merged sums are those of a loop over the chunks, with the same bits.
#pragma once

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle {

class GpuEmitter;

/// The teams of the kernel that is being emitted.
class GpuTeams {
public:
  explicit GpuTeams(GpuEmitter &emitter) : e(emitter) {}

  /// Whether an op goes over chunks of keys.
  static bool hasChunks(mlir::Operation *op);
  /// Whether the kernel has several teams, which share this loop.
  bool isShared(mlir::scf::ForOp loop) const;
  /// Emits such a loop; its results are the first team's.
  mlir::LogicalResult emitLoop(mlir::scf::ForOp loop);

private:
  using Registers = llvm::SmallVector<mlir::Value>;
  /// The ops of a loop's body, and the tiles that those of a chunk leave for those that merge.
  struct Parts {
    llvm::SmallVector<mlir::Operation *> chunk, merge;
    llvm::SmallVector<mlir::Value> handed;
  };

  static Parts partsOf(mlir::scf::ForOp loop);
  mlir::LogicalResult emitChunk(mlir::scf::ForOp loop, const Parts &parts, mlir::Value first);
  mlir::LogicalResult mergeChunk(mlir::scf::ForOp loop, const Parts &parts, mlir::Value team,
                                 Registers &state);
  mlir::Value placeOf(mlir::Value tile, mlir::Value team);
  mlir::LogicalResult hand(mlir::Value tile, int64_t number);
  void take(mlir::Value tile, int64_t number, mlir::Value team);

  GpuEmitter &e;
};

} // namespace heddle
