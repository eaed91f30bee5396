//===- GpuStaging.h - Operands of products in workgroup memory --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Staging of operands: the invocations of a workgroup together load a block of k of
// both sides of a product, one vec4 each at a time, and read it from workgroup memory.
// Words are copied unchanged, so the same code serves every type:
//
//   right   the block's part of each panel: a run of vec4s of words
//   left    the block's part of each row, likewise; or crosswise: a vec4 is one word
//           of four rows, so an invocation with several rows holds one word of each
//
// Staging may widen words of two bf16 to two words of f32, once for all readers.
// Each of several runs is padded by a vec4, so that neighbors begin in different banks.
#pragma once

#include "GpuKernel.h"

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle {

class GpuEmitter;

/// Runs of vec4s that a workgroup copies from a view.
class GpuStaging {
public:
  /// An array in which runs, or crosswise words of all runs, are `pitch` vec4s apart. If `widens`,
  /// a vec4 of bf16 becomes two of f32: the even and the odd feature of a panel's columns, or eight
  /// words of a row.
  struct Layout {
    SharedArray array;
    int64_t entries, pitch;
    bool crosswise = false, widens = false;
    bool makesSigned = false; ///< bytes, which hold 128 + code, lose their 128
  };
  /// The first `steps` steps of k have steps * elements / perVec4 vec4s of a run, rounded down.
  struct Rate {
    int64_t elements, perVec4;
  };
  struct Runs {
    int64_t count, vec4s; ///< vec4s of each run
    Rate rate;
  };
  /// `startOf` returns the start of a run in the view at k = 0, in vec4s.
  GpuStaging(GpuEmitter &emitter, const kernel::BoundView &view, Layout layout, Runs runs,
             llvm::function_ref<mlir::Value(mlir::Value run)> startOf);

  SharedArray array() const { return layout.array; }
  /// Loads this invocation's vec4s of the block that begins at a step.
  void fetchStep(mlir::Value step, llvm::SmallVectorImpl<mlir::Value> &loaded);
  /// Writes the vec4s in the order of `fetchStep` and removes them from the front of `loaded`. The
  /// caller emits barriers.
  void store(llvm::ArrayRef<mlir::Value> &loaded);

private:
  GpuEmitter &e;
  const kernel::BoundView view;
  Layout layout;
  Rate rate;
  llvm::SmallVector<mlir::Value> sources, places; ///< one for each vec4 of this invocation
  llvm::SmallVector<mlir::Value> lanes;           ///< crosswise: lane of the run in its vec4
};

} // namespace heddle
