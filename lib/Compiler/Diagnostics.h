//===- Diagnostics.h - MLIR's diagnostics as one line ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// While one of these lives, diagnostics of its context are collected instead of
// printed; the first error becomes the error of the whole compilation.
#pragma once

#include "heddle/Support/Error.h"

#include "mlir/IR/Diagnostics.h"

#include <mutex>
#include <vector>

namespace heddle {

class DiagnosticCollector {
public:
  /// `model`: what a place within a description is a place of.
  DiagnosticCollector(mlir::MLIRContext &context, std::string model);

  /// The first error since the start ("file:line:col: message") as the input's fault; without one,
  /// `fallback`.
  Error error(Error fallback) const;
  const std::vector<std::string> &warnings() const { return warningLines; }
  const std::vector<std::string> &remarks() const { return remarkLines; }

private:
  mutable std::mutex mutex; ///< passes run on several threads
  std::string model;
  std::vector<std::string> errorLines, warningLines, remarkLines;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace heddle
