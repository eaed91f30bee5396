//===- Models.h - Models opened for reports --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports read the module of a model or of a compiled file, without its checkpoint.
#pragma once

#include "heddle/Compiler/Compiler.h"
#include "heddle/Pack/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace heddle {

struct Program;

/// A model or compiled file, with its module and, after `plan` or for a file, its program.
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
  /// Tensors that the model requires of its checkpoint.
  std::vector<TensorInfo> tensors() const;

private:
  struct Parts;
  explicit OpenedModel(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts;
};

/// Part of the model of an op, the first name in its location: "encoder.0.attention". Null for ops
/// of dialect text, unless the text has `loc("encoder.0.attention")`.
mlir::StringAttr partOf(mlir::Location location);
/// What the op makes in its part, "keys" or "values" of an attention, the name within the part's;
/// null for anything else.
mlir::StringAttr roleOf(mlir::Location location);
/// The location of an op with this part, and role if there is one.
mlir::Location named(mlir::StringAttr part, mlir::StringAttr role);
/// "model.mlir:3:8", or the part of the model; empty for an unknown location.
std::string locationText(mlir::Location location);

} // namespace heddle
