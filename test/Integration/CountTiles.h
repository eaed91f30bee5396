//===- CountTiles.h - Attention that counts its tiles --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A change to kernels at the stage `tiled`, for CompileOptions::onTiled.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace heddle::test {

/// Each attention stores the number of column tiles that a tile of rows visits, in place of its
/// output.
void countTiles(mlir::ModuleOp tiled);

} // namespace heddle::test
