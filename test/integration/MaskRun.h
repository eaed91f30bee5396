//===- MaskRun.h - Attentions on a device and by the reference ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles several compositions in one module, since a compilation costs more than many runs, and
// returns the results of a device and of the reference.
#pragma once

#include "MaskComposer.h"
#include "Models.h"
#include "heddle/Compiler/Compiler.h"

#include <memory>

namespace heddle::test {

/// Options of a compilation and its runs.
struct RunOptions {
  std::string device = "cpu";
  bool poison = false; ///< planned memory is set to NaN before each run
  std::string dtype = "f32";
  std::function<void(mlir::ModuleOp)> onTiled = {}; ///< TiledHook::call
};

/// Compositions compiled for a device, and the module that the reference reads.
class MaskModule {
public:
  static Expected<MaskModule> compile(const std::vector<Composition> &compositions,
                                      const RunOptions &options);
  /// Module without code, for byReference only.
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

/// Empty if each result is within max |a - b| / max |b| <= tolerance, has the same infinities and
/// NaN, and is exactly zero in the rows of `o` that no key reaches; otherwise describes the
/// difference. `o` is compared relative to `largestValue` if its own maximum is smaller, since each
/// row is a mean of values.
std::string mismatch(const Tensors &found, const NamedRefTensors &expected, double tolerance = 5e-6,
                     double largestValue = 0);

} // namespace heddle::test
