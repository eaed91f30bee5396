//===- Models.h - Models opened for reports --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens the module of a model or of a compiled file for reports, without its checkpoint.
#pragma once

#include "heddle/Compiler/Compiler.h"
#include "heddle/Pack/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace heddle {

struct Program;

/// A model or compiled file with its module. It has a program after `plan`, or if it is compiled.
class OpenedModel {
public:
  /// Opens a model at the transformer stage, or a compiled file at its fused stage.
  static Expected<OpenedModel> read(const std::string &model, const CompileOptions &options);
  /// Opens a model or a compiled file at the fused stage, with its program.
  static Expected<OpenedModel> plan(const std::string &model, const CompileOptions &options);

  OpenedModel(OpenedModel &&) noexcept;
  ~OpenedModel();

  mlir::ModuleOp module() const;
  const Program &program() const;
  /// The compiled file; null if the model is not compiled.
  const Artifact *artifact() const;
  /// The checkpoint; null for a compiled file, and without tensors unless codes of it are kept.
  const WeightSource *weights() const;
  /// Tensors that the model requires from its checkpoint.
  std::vector<TensorInfo> tensors() const;

private:
  struct Parts;
  explicit OpenedModel(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts;
};

/// "model.mlir:3:8", or the part of the model; empty for an unknown location.
std::string locationText(mlir::Location location);

} // namespace heddle
