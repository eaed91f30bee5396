//===- GpuBlocks.h - Products by blocks that are loaded ahead ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file orders the loads, writes and products of a workgroup that sums over blocks
// of k. Each invocation loads its part of a block to registers, and writes it to workgroup
// memory. Short blocks need little workgroup memory and thus raise occupancy, but
// multiplying one takes less time than a load. Two blocks are then in flight (`ahead` of
// the plan).
//
// With one buffer, a block is written after all invocations have multiplied the previous
// one, so it takes two barriers. With two buffers, blocks alternate between them. A block
// is written over the one before the last, which every invocation multiplied before the
// barrier of the last one. One barrier is then enough (`buffers` of the plan).
#pragma once

#include "GpuEmitter.h"

#include <functional>

namespace heddle {

/// A block of k.
struct KBlock {
  mlir::Value first;   ///< first step
  int64_t steps;       ///< number of steps; only the last block may have fewer
  bool isLast = false; ///< the last block may extend beyond the features
};

/// Operations on a block.
struct BlockSteps {
  using Registers = llvm::SmallVector<mlir::Value>;
  /// Appends this invocation's part of the block: equal numbers of values for all blocks but the
  /// last.
  std::function<void(const KBlock &block, Registers &loaded)> fetch;
  /// Emits a barrier if other invocations may still read the previous block.
  std::function<void()> waitForReaders;
  /// Writes the fetched values to workgroup memory. Emits no barrier.
  std::function<void(const KBlock &block, llvm::ArrayRef<mlir::Value> loaded)> store;
  std::function<void(const KBlock &block, Registers &sums)> multiply;
  /// Whether the next block is loaded after the products of a block instead of before them. The
  /// block then takes no registers while operands are live. Other workgroups hide the latency of
  /// its loads.
  bool fetchesLate = false;
  /// Whether drivers must not unroll the loop.
  bool staysRolled = false;
};

/// Sums `all` steps in blocks of `block` steps. A loop sums the blocks within the first `whole`
/// steps; the remaining blocks follow the loop.
void sumBlocks(GpuEmitter &e, int64_t all, int64_t whole, int64_t block, const BlockSteps &does,
               BlockSteps::Registers &sums);

} // namespace heddle
