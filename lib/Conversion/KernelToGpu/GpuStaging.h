//===- GpuStaging.h - Operands of products in workgroup memory --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of k of both sides of a product, which all invocations of a workgroup
// load together, sixteen bytes each at a time, and then read from workgroup
// memory. Words are moved as they are, so that one code serves every type:
//
//   right   the block's part of each panel: a run of quads (vec4s of words)
//   left    the block's part of each row, likewise; or crosswise, by words: a quad is
//           one word of four rows, so that who multiplies several rows holds no
//           more than one word of each
//
// Words of two bf16 may become two words of f32, once for all who read them.
//
// Runs are a quad further apart than they are long where there are several, so
// that neighbouring ones begin in different banks.
#pragma once

#include "GpuKernel.h"

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle {

class GpuEmitter;

/// Runs of quads that a workgroup copies from a view.
class GpuStaging {
public:
  /// The array where runs, or crosswise words of all runs, lie `pitch` quads apart. Where it `widens`,
  /// a quad of bf16 becomes two of f32: of the even and of the odd feature of a panel's columns, or
  /// eight words of a row.
  struct Layout {
    SharedArray array;
    int64_t entries, pitch;
    bool crosswise = false, widens = false;
  };
  /// `quads` of each of `runs` runs; `startOf` gives the place of a run in the view, in quads, where
  /// k is zero.
  GpuStaging(GpuEmitter &emitter, const kernel::BoundView &view, Layout layout, int64_t runs,
             int64_t quads, llvm::function_ref<mlir::Value(mlir::Value run)> startOf);

  /// Loads this invocation's quads of the block that begins `offset` quads behind k = 0.
  void fetch(mlir::Value offset, llvm::SmallVectorImpl<mlir::Value> &loaded);
  /// Writes them, in the order of `fetch`; takes them from the front of `loaded`. Barriers are the
  /// caller's.
  void store(llvm::ArrayRef<mlir::Value> &loaded);

private:
  GpuEmitter &e;
  const kernel::BoundView view;
  Layout layout;
  llvm::SmallVector<mlir::Value> sources, places; ///< one a quad of this invocation
  llvm::SmallVector<mlir::Value> lanes;           ///< crosswise: of the run in its four
};

} // namespace heddle
