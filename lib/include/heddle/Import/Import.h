//===- Import.h - Reading a model as an MLIR module -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads any supported model: a Hugging Face folder (config.json), a GGUF file, a model description
// (a .json file or a folder with model.json) or dialect text (.mlir, .mlirbc). The result is a
// module at stage `transformer`, the tensors that it expects, and their source.
#pragma once

#include "heddle/Import/ImportOptions.h"
#include "heddle/Pack/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>

namespace heddle {

/// A model that has been read, before compilation.
struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Tensors that the model expects, in a stable order.
  std::vector<TensorInfo> tensors;
  /// Source of `tensors`; a source without tensors if the model needs none. Never null.
  std::unique_ptr<WeightSource> weights;
  /// Text members of the artifact by member name: vocabularies, tokenizers, labels.
  std::map<std::string, std::string> texts;
  /// Paths of all files that were read.
  std::vector<std::string> files;
  /// Facts for Generation and the tools as JSON text (Program::model); "{}" for dialect text.
  std::string facts = "{}";
  /// One line each; the model works as described despite them.
  std::vector<std::string> warnings;
};

/// Reads the model at `path` into a module of `context`. Errors are one line, `FILE: KEY: expected
/// …, found …`: ErrorKind::Input for the model, ErrorKind::Usage for options that do not fit it,
/// ErrorKind::System for a file that exists and cannot be read. Threads may import at the same
/// time, each with its own context.
Expected<ImportedModel> importModel(const std::string &path, const ImportOptions &options,
                                    mlir::MLIRContext &context);

/// Returns whether the model at `path` is of a kind that may store codes, which `--dtype=file`
/// keeps: a GGUF file, or a Hugging Face folder of MXFP4 matrices.
bool storesCodes(const std::string &path);

/// The JSON Schema of the model description.
std::string modelDescriptionSchema();

} // namespace heddle
