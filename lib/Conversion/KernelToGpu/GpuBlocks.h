//===- GpuBlocks.h - Products by blocks that are loaded ahead ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which a workgroup loads, writes and multiplies blocks of k. What an
// invocation copies of a block waits in its registers until all have multiplied the
// block before. Short blocks need little workgroup memory, so that more workgroups run
// beside each other; but while a short block is multiplied, less time passes than a load
// takes. Then two blocks are under way (`ahead` of the plan).
#pragma once

#include "GpuEmitter.h"

#include <functional>

namespace heddle {

/// A block of k.
struct KBlock {
  mlir::Value first;   ///< step
  int64_t steps;       ///< fewer than the others' only in the last
  bool isLast = false; ///< it may end behind the features
};

/// What is done with a block.
struct BlockSteps {
  using Registers = llvm::SmallVector<mlir::Value>;
  /// Appends what this invocation copies of it: as many values for each but the last.
  std::function<void(const KBlock &block, Registers &loaded)> fetch;
  /// Writes that to workgroup memory.
  std::function<void(const KBlock &block, llvm::ArrayRef<mlir::Value> loaded, Registers &sums)>
      store;
  std::function<void(const KBlock &block, Registers &sums)> multiply;
  /// Whether the next block is loaded behind the products of one, not beside them: then no registers
  /// hold it beside the operands, and the workgroup's neighbours on the processor hide how long it takes.
  bool fetchesLate = false;
  /// Whether drivers are kept from unrolling the loop.
  bool staysRolled = false;
};

/// Sums `all` steps by blocks of `block`: in a loop those that are among the first `whole` steps, the
/// others behind it.
void sumBlocks(GpuEmitter &e, int64_t all, int64_t whole, int64_t block, const BlockSteps &does,
               BlockSteps::Registers &sums);

} // namespace heddle
