//===- Models.h - Models opened for questions ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A report reads the module of a model, and nothing of its checkpoint.
#pragma once

#include "heddle/Compiler/Compiler.h"
#include "heddle/Pack/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace heddle {

struct Program;

class OpenedModel {
public:
  /// The transformer stage of a model; a compiled file gives its fused stage.
  static Expected<OpenedModel> read(const std::string &model, const CompileOptions &options);
  /// The fused stage of a model and the program that it becomes.
  static Expected<OpenedModel> plan(const std::string &model, const CompileOptions &options);

  OpenedModel(OpenedModel &&) noexcept;
  ~OpenedModel();

  mlir::ModuleOp module() const;
  const Program &program() const;
  /// The compiled file; null where the model is not compiled yet.
  const Artifact *artifact() const;
  /// The tensors that the model expects in its checkpoint.
  std::vector<TensorInfo> tensors() const;

private:
  struct Parts;
  explicit OpenedModel(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts;
};

/// "encoder.0.attention": the part of the model that an op was imported for, the name of its
/// location. Null for ops of dialect text, unless the text names them: `loc("encoder.0.attention")`.
mlir::StringAttr partOf(mlir::Location location);
/// "model.mlir:3:8", or the part of the model that an op was imported for.
std::string locationText(mlir::Location location);

} // namespace heddle
