//===- TileRotary.h - Rotary positions --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code that kernels of linears and separate kernels of rotary positions share. The order of its
// operations is fixed by docs/semantics.md.
#pragma once

#include "Tiling.h"

namespace heddle {

/// Tiles of the same columns of both halves of the rotated features.
struct Halves {
  mlir::Value front, back;
};

/// front * cos - back * sin and back * cos + front * sin, each operation rounded. The inverse
/// negates the sines.
Halves rotated(TileBuilder &t, Halves x, mlir::Value cos, mlir::Value sin, bool isInverse);
/// Loads both halves at `row` and `column`, of a table of cosines and sines, or of heads.
Halves loadHalves(TileBuilder &t, mlir::RankedTensorType tile, mlir::Value view, mlir::Value row,
                  mlir::Value column, int64_t half);

void attachRotaryTilers(mlir::MLIRContext *context);

} // namespace heddle
