//===- Jit.h - Just-in-time compilation ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a model and opens a session on it. The model is compiled as by `heddle compile`, but
// only for the chosen device and to a file in memory, which is loaded like any other. A `.heddle`
// file is opened without compilation, and so is a Hugging Face folder that was compiled before (see
// compileOnce).
#pragma once

#include "heddle/Import/ImportOptions.h"
#include "heddle/Runtime/Session.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

struct JitOptions : ImportOptions {
  std::string device = "cpu"; ///< "cpu", "vulkan", "vulkan:N"
  int threads = 0;            ///< CPU: 0 means all processors
  /// CPU: the instruction set to compile for, as --cpu of `heddle compile`; of a compiled file,
  /// SessionOptions::cpu. Empty: the best one for this processor.
  std::string cpu = {};
  std::optional<int> vulkanLevel; ///< SessionOptions::vulkanLevel
  /// Called with a short phrase when a phase of the compilation begins, including a driver's
  /// (SessionOptions::progress), and with an empty one when it ends.
  std::function<void(const std::string &phase)> progress;
  /// Called with warnings of the compilation, such as unused tensors of the checkpoint.
  std::function<void(const std::string &text)> warning;
  /// Called with notes of the compilation (CompileReport::notes).
  std::function<void(const std::string &text)> note;
};

/// Compiles `model` and opens a session on it; a `.heddle` file is only opened. Returns the errors
/// of compilation and of Session::open.
Expected<Session> jit(const std::string &model, const JitOptions &options = {});

} // namespace heddle
