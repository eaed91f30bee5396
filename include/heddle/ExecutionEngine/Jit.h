//===- Jit.h - Compile and run in one process ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session straight from a model. It is the path of `heddle compile` with the
// file in memory: code for the chosen device only, loaded the one way that code
// is loaded. A `.heddle` file is opened as it is.
#pragma once

#include "heddle/Runtime/Session.h"

#include <functional>
#include <string>
#include <vector>

namespace heddle {

struct JitOptions {
  std::string device = "cpu"; ///< "cpu", "vulkan", "vulkan:N"
  int threads = 0;            ///< CPU: 0 means all processors
  std::string dtype = "f32";
  std::vector<std::string> masks; ///< "NAME=EXPR"
  std::string weights;            ///< checkpoint of a `.mlir` model
  bool attentionWeights = false;  ///< a described model returns those of every layer and head
  /// Called with a short phrase when a phase of the compilation begins.
  std::function<void(const std::string &phase)> progress;
  /// Called with what is worth knowing about a model that compiles: tensors that it does not read.
  std::function<void(const std::string &text)> warning;
};

/// Compiles `model` (any form that `heddle compile` takes, or a `.heddle` file) and opens a session
/// on it.
Expected<Session> jit(const std::string &model, const JitOptions &options = {});

} // namespace heddle
