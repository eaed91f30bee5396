//===- RegisterAll.h - Registration of dialects and passes -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All dialects and passes, for heddle-opt, the language server and the compiler's own
// context.
#pragma once

namespace mlir {
class DialectRegistry;
class MLIRContext;
} // namespace mlir

namespace heddle {

/// Registers the dialects of the project and those of MLIR that occur at any stage.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Passes run on one thread where the system does not start as many as MLIR's pool wants, which would
/// end the process.
void limitThreads(mlir::MLIRContext &context);

/// Registers passes and pipelines of the project, and the few of MLIR that its stages use.
void registerAllPasses();

} // namespace heddle
