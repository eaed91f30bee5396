//===- Jit.h - Just-in-time compilation ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a session on a model. The model is compiled as by `heddle compile`, for the
// chosen device only and to a file in memory, which is loaded like any other. A
// `.heddle` file is opened without compilation, and so is a Hugging Face folder that
// was compiled before (see compileOnce).
#pragma once

#include "heddle/Import/ImportOptions.h"
#include "heddle/Runtime/Session.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

struct JitOptions : ImportOptions {
  std::string device = "cpu";     ///< "cpu", "vulkan", "vulkan:N"
  int threads = 0;                ///< CPU: 0 means all processors
  std::optional<int> vulkanLevel; ///< SessionOptions::vulkanLevel
  std::string dtype, cacheDtype;  ///< as in CompileOptions
  /// Callback with a short phrase at the beginning of each phase of the compilation, also of a driver's
  /// (SessionOptions::progress), and with an empty one at its end.
  std::function<void(const std::string &phase)> progress;
  /// Callback for warnings of the compilation, such as unused tensors of the checkpoint.
  std::function<void(const std::string &text)> warning;
  /// Callback for what is good to know: CompileReport::notes.
  std::function<void(const std::string &text)> note;
};

/// Compiles `model` and opens a session on it; a `.heddle` file is only opened.
Expected<Session> jit(const std::string &model, const JitOptions &options = {});

} // namespace heddle
