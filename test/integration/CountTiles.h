//===- CountTiles.h - Attention that counts its tiles --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instruments kernels at the stage `tiled`, for TiledHook.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace heddle::test {

/// Makes each attention store the number of column tiles that a tile of rows visits, instead of its
/// output.
void countTiles(mlir::ModuleOp tiled);

} // namespace heddle::test
