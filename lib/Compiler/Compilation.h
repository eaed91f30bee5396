//===- Compilation.h - One model on its way through the stages -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds the context, the imported model and its module, and moves the module from
// stage to stage. MLIR's diagnostics stop here: callers see one-line errors.
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

class Compilation {
public:
  /// Imports `model`; the module is then at the transformer stage.
  static Expected<std::unique_ptr<Compilation>> load(const std::string &model,
                                                     const CompileOptions &options);

  /// Brings the module to a stage up to `program`.
  Status advance(Stage to);
  /// A copy of the module, brought to a later stage for a target.
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> lowered(Stage to, const StageOptions &options);
  /// The same from a module at stage `from`.
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> lowered(mlir::ModuleOp module, Stage from, Stage to,
                                                      const StageOptions &options);

  /// The program of a module that is at stage `program`, without code.
  Expected<Program> program();
  /// The program of modules at the stage `tiled`, one a target.
  Expected<Program> program(llvm::ArrayRef<TiledModule> tiled);

  mlir::ModuleOp module() { return *imported.module; }
  const ImportedModel &model() const { return imported; }
  Stage stage() const { return current; }
  std::vector<std::string> warnings() const;
  /// What passes did that a reader of the model may want to know.
  const std::vector<std::string> &remarks() const { return diagnostics.remarks(); }
  /// The first error that an op reported, or `fallback`: what threads report arrives when all of
  /// them have ended.
  Error explained(Error fallback) const { return diagnostics.error(std::move(fallback)); }

private:
  Compilation(const mlir::DialectRegistry &registry, const std::string &model);
  Error failedAt(Stage stage) const;

  mlir::MLIRContext context;
  DiagnosticCollector diagnostics;
  ImportedModel imported;
  Stage current = Stage::Transformer;
  bool countTiles = false;
};

/// The module as text, without locations.
std::string moduleText(mlir::ModuleOp module);
/// The module as bytecode: ops keep the parts of the model that they are of and no other locations,
/// so that equal modules give equal bytes.
Expected<std::string> moduleBytecode(mlir::ModuleOp module);

} // namespace heddle
