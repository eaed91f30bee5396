//===- GpuWorkgroup.h - Workgroup memory and barriers -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workgroup memory: its arrays, and barriers between writes and reads. A write
// needs a barrier before it only if an earlier read of the same array may still
// run. Each array has one use, so a barrier for another array usually separates
// them.
#pragma once

#include "GpuKernel.h"

#include <set>

namespace heddle {

class GpuEmitter;

/// Workgroup memory of the kernel that is being emitted.
class GpuWorkgroup {
public:
  explicit GpuWorkgroup(GpuEmitter &emitter) : e(emitter) {}

  /// Stages a tile for all invocations, once for all its readers in a block.
  mlir::LogicalResult stage(mlir::Value tile);
  /// Reads a vec4 of the staged tile; `vec4Column` counts vec4s.
  mlir::Value stagedVec4(int64_t tileColumns, mlir::Value row, mlir::Value vec4Column);

  /// Emits a barrier if other invocations may still read the array.
  void beforeWrite(SharedArray array);
  void barrier();
  /// Writes or reads an entry, or only lane `lane` of an entry that is a vector. Operands of
  /// products (Left, Right and Scales) have `entries` entries in each buffer of the plan, and are
  /// written to and read from the current one.
  void write(SharedArray array, mlir::Type element, int64_t entries, mlir::Value index,
             mlir::Value value, mlir::Value lane = {});
  mlir::Value read(SharedArray array, mlir::Type element, int64_t entries, mlir::Value index,
                   mlir::Value lane = {});

  /// Selects the buffer of the plan that operands of products are written to and read from.
  void useBuffer(int64_t number) { buffer = number; }
  /// Returns a place of an array in the current buffer, if each buffer has `entries` entries.
  mlir::Value inBuffer(mlir::Value place, int64_t entries);

private:
  mlir::Value entryOf(SharedArray array, mlir::Type element, int64_t entries, mlir::Value index,
                      mlir::Value lane);

  GpuEmitter &e;
  int64_t buffer = 0;
  /// The staged tile, and the arrays read since the last barrier of the block.
  mlir::Value stagedTile;
  mlir::Block *stagedIn = nullptr, *barrierIn = nullptr;
  std::set<SharedArray> readSince;
};

} // namespace heddle
