//===- Import.h - Any model file as a module -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One door for what the compiler reads: a Hugging Face folder (config.json), a model
// description (a .json file or a folder with model.json), or dialect text (.mlir). The
// result is a module at the transformer stage, the tensors that it expects, and where
// they come from.
#pragma once

#include "heddle/Import/ImportOptions.h"
#include "heddle/Pack/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>

namespace heddle {

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Tensors that the model expects, in a stable order.
  std::vector<TensorInfo> tensors;
  /// Where they come from; one without tensors if the model needs none. Never null.
  std::unique_ptr<WeightSource> weights;
  /// Text members of the artifact by name: vocabularies, tokenizers, labels.
  std::map<std::string, std::string> texts;
  /// Every file that the model is read from.
  std::vector<std::string> files;
  /// Facts for Generation and the tools, JSON text (Program::model); "{}" for dialect text.
  std::string facts = "{}";
  std::vector<std::string> warnings;
};

/// Reads the model at `path`. Errors are one line: `FILE: KEY: expected …, found …`.
Expected<ImportedModel> importModel(const std::string &path, const ImportOptions &options,
                                    mlir::MLIRContext &context);

/// The JSON Schema of the model description.
std::string modelDescriptionSchema();

} // namespace heddle
