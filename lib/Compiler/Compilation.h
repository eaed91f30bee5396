//===- Compilation.h - Lowering of a model through the stages --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compilation: holds the context, the imported model and its module, and lowers the module from
// stage to stage. MLIR's diagnostics become one-line errors.
#pragma once

#include "Diagnostics.h"
#include "heddle/Compiler/Compiler.h"
#include "heddle/Import/Import.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Support/Program.h"
#include "heddle/Transforms/ProgramBuilder.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace heddle {

/// A model during compilation. Only `lowered` may be called from several threads.
class Compilation {
public:
  /// Imports `model` and runs the pipeline of the transformer stage.
  static Expected<std::unique_ptr<Compilation>> load(const std::string &model,
                                                     const CompileOptions &options);

  /// Lowers the module in place to a stage up to `program`. Does nothing if it is already there.
  Status advance(Stage to);
  /// Lowers a copy of the module to a later stage for a target.
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> lowered(Stage to, const StageOptions &options);
  /// Lowers a copy of another module from stage `from` to stage `to`.
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> lowered(mlir::ModuleOp module, Stage from, Stage to,
                                                      const StageOptions &options);

  /// Program of the module, which stays at its stage, with the grids of modules at the stage `tiled`,
  /// one per target.
  Expected<Program> program(llvm::ArrayRef<TiledModule> tiled = {});

  mlir::ModuleOp module() { return *imported.module; }
  const ImportedModel &model() const { return imported; }
  Stage stage() const { return current; }
  /// Warnings of import and of passes.
  std::vector<std::string> warnings() const;
  /// Remarks of passes, for example about simplified masks.
  const std::vector<std::string> &remarks() const { return diagnostics.remarks(); }
  /// First error that an op reported, or `fallback`. Errors of parallel passes are available after
  /// all of them have ended.
  Error explained(Error fallback) const { return diagnostics.error(std::move(fallback)); }

private:
  Compilation(const mlir::DialectRegistry &registry, const std::string &model);
  Error failedAt(Stage stage) const;
  /// Gives each weight the type of its codes in the checkpoint, if there are any.
  void markCodes();

  mlir::MLIRContext context;
  DiagnosticCollector diagnostics;
  ImportedModel imported;
  Stage current = Stage::Transformer;
  const TiledHook *onTiled = nullptr; ///< CompileOptions::onTiled
};

/// Text of a module, without locations.
std::string moduleText(mlir::ModuleOp module);
/// Bytecode of a module. Locations are reduced to parts of the model (partOf), so that equal models
/// in different files give equal bytes.
Expected<std::string> moduleBytecode(mlir::ModuleOp module);

} // namespace heddle
