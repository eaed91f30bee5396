//===- RegisterAll.h - Registration of dialects and passes -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers all dialects and passes, for heddle-opt, the language server and the compiler's own
// context.
#pragma once

namespace mlir {
class DialectRegistry;
class MLIRContext;
} // namespace mlir

namespace heddle {

/// Registers the project's dialects and the MLIR dialects that occur at any stage.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Makes passes run on one thread if the system cannot start as many threads as MLIR's pool needs,
/// which would otherwise end the process.
void limitThreads(mlir::MLIRContext &context);

/// Registers the project's passes and pipelines, and the few MLIR passes that its stages use.
void registerAllPasses();

} // namespace heddle
