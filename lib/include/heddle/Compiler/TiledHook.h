//===- TiledHook.h - Kernels before code generation ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace heddle {

/// A function that a compilation calls after the stage `tiled`, once per target. It may inspect and
/// change the kernels. Tests count visited tiles with it.
struct TiledHook {
  std::function<void(mlir::ModuleOp tiled)> call;
};

} // namespace heddle
