//===- MaskRun.h - Attentions on a device and by the reference ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles compositions in one module, since a compilation costs more than many
// runs, and gives what a device and what the reference makes of them.
#pragma once

#include "MaskComposer.h"
#include "Models.h"
#include "heddle/Compiler/Compiler.h"

#include <memory>

namespace heddle::test {

/// What to compile for, beside the device.
struct RunOptions {
  std::string device = "cpu";
  bool poison = false; ///< planned memory is NaN before each run
  std::string dtype = "f32";
  std::function<void(mlir::ModuleOp)> onTiled = {}; ///< CompileOptions::onTiled
};

/// Compositions compiled for a device, and the module that the reference reads.
class MaskModule {
public:
  static Expected<MaskModule> compile(const std::vector<Composition> &compositions,
                                      const RunOptions &options);
  /// Without code: byReference only.
  static Expected<MaskModule> forReference(const std::vector<Composition> &compositions,
                                           const std::string &dtype = "f32");
  MaskModule(MaskModule &&) noexcept;
  ~MaskModule();

  Expected<Tensors> onDevice(const std::string &function, const NamedRefTensors &inputs);
  Expected<NamedRefTensors> byReference(const std::string &function, const NamedRefTensors &inputs);

private:
  struct Impl;
  explicit MaskModule(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// Nothing where each result is within max |a - b| / max |b| <= tolerance, has the same infinities
/// and NaN, and is exactly zero in the rows of `o` that no key reaches; else what differs. `o` is
/// measured against `largestValue` where its own largest is less: each row is a mean of values.
std::string mismatch(const Tensors &found, const NamedRefTensors &expected, double tolerance = 5e-6,
                     double largestValue = 0);

} // namespace heddle::test
