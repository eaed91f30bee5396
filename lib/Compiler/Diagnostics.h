//===- Diagnostics.h - Collection of MLIR diagnostics ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DiagnosticCollector keeps the diagnostics of its context during its life instead of printing
// them. The first error becomes the error of the compilation.
#pragma once

#include "heddle/Support/Error.h"

#include "mlir/IR/Diagnostics.h"

#include <mutex>
#include <vector>

namespace heddle {

/// Errors, warnings and remarks of an MLIRContext, as lines of text.
class DiagnosticCollector {
public:
  /// `model` is the name of the file, for errors at a part of a described model.
  DiagnosticCollector(mlir::MLIRContext &context, std::string model);

  /// First error, "file:line:col: message", as an input error; `fallback` if there is none.
  Error error(Error fallback) const;
  const std::vector<std::string> &errors() const { return errorLines; }
  const std::vector<std::string> &warnings() const { return warningLines; }
  const std::vector<std::string> &remarks() const { return remarkLines; }

private:
  mutable std::mutex mutex; ///< passes run on several threads
  std::string model;
  std::vector<std::string> errorLines, warningLines, remarkLines;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace heddle
