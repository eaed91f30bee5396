//===- RegisterAll.h - Registration of dialects and passes -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All dialects and passes, for heddle-opt, the language server and the compiler's own
// context.
#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace heddle {

/// Registers the dialects of the project and those of MLIR that occur at any stage.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers passes and pipelines of the project, and the few of MLIR that its stages use.
void registerAllPasses();

} // namespace heddle
