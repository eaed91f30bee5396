//===- Import.h - Any model file as a module -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One door for what the compiler reads: a Hugging Face folder (config.json), a model
// description (a .json file or a folder with model.json), or dialect text (.mlir). The
// result is a module at the transformer stage, the tensors that it expects, and where
// they come from.
#pragma once

#include "heddle/Pack/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>

namespace heddle {

struct ImportOptions {
  /// NAME=EXPR replacements of masks; NAME is a key path of the description ("decoder.mask",
  /// "encoder.3.mask").
  std::vector<std::string> masks;
  /// Of a folder with several models, such as the texts and the images of CLIP; empty: the first.
  std::string part;
  /// Of a Hugging Face folder: the word of `encoder.pool`, with which its head is left out; empty: as
  /// the folder says.
  std::string pool;
  /// One vector a text is wanted: a folder that says no pooling takes the mean, with a warning.
  bool needsVectors = false;
  /// Texts will come, or files of images: a folder whose tokenizer or steps for images cannot be read
  /// is an error. Else it is a warning, and the model takes ids or numbers.
  bool needsTexts = false;
  /// Safetensors file for dialect text; empty: none.
  std::string weights;
  /// A description's layers return the weights of each head, whatever "return-weights" says.
  bool attentionWeights = false;
  /// False: questions about the model do not open its checkpoint; ImportedModel::weights then has
  /// no tensors.
  bool needsWeights = true;
};

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
