//===- GpuBlocks.h - Products by blocks that are loaded ahead ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which a workgroup loads, writes and multiplies blocks of k. What an
// invocation copies of a block waits in its registers until all have multiplied the last
// one. Short blocks need little workgroup memory, thus more subgroups run beside each
// other, but what is loaded beside the products of one alone comes too late where a
// workgroup is alone on its processor: of those two are under way.
#pragma once

#include "GpuEmitter.h"

#include <functional>

namespace heddle {

/// What is done with a block; `first` is its first step.
struct BlockSteps {
  using Registers = llvm::SmallVector<mlir::Value>;
  /// Appends what this invocation copies of the block, in as many values for every block.
  std::function<void(mlir::Value first, Registers &loaded)> fetch;
  /// Writes it to workgroup memory.
  std::function<void(llvm::ArrayRef<mlir::Value> loaded, Registers &sums)> store;
  std::function<void(mlir::Value first, Registers &sums)> multiply;
  /// Whether the next block is loaded behind the products of one, not beside them: then no registers
  /// hold it beside the operands, and the workgroup's neighbours on the processor hide how long it takes.
  bool fetchesLate = false;
  /// Whether drivers are kept from unrolling the loop.
  bool staysRolled = false;
};

/// Sums the first of `steps` steps, as many as are blocks of `block` that a loop can take; returns how
/// many those are.
int64_t sumBlocks(GpuEmitter &e, int64_t steps, int64_t block, const BlockSteps &does,
                  BlockSteps::Registers &sums);

} // namespace heddle
