//===- GpuWorkgroup.h - What invocations of a workgroup share --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workgroup memory: its arrays, and the barriers between writes and reads. A barrier
// stands before a write only where an earlier read of the same array may not be over:
// every array has one use, and the barriers of the others in the same block usually lie
// between.
#pragma once

#include "GpuKernel.h"

#include <set>

namespace heddle {

class GpuEmitter;

class GpuWorkgroup {
public:
  explicit GpuWorkgroup(GpuEmitter &emitter) : e(emitter) {}

  /// Puts a tile where all invocations see it; once for all its readers in a block.
  mlir::LogicalResult stage(mlir::Value tile);
  mlir::Value stagedVec4(int64_t tileColumns, mlir::Value row, mlir::Value vec4Column);

  void beforeWrite(SharedArray array);
  void barrier();
  void write(SharedArray array, mlir::Type element, int64_t entries, mlir::Value index,
             mlir::Value value);
  mlir::Value read(SharedArray array, mlir::Type element, int64_t entries, mlir::Value index);

private:
  GpuEmitter &e;
  /// What the memory holds, and what was read from it since the last barrier of the block.
  mlir::Value stagedTile;
  mlir::Block *stagedIn = nullptr, *barrierIn = nullptr;
  std::set<SharedArray> readSince;
};

} // namespace heddle
