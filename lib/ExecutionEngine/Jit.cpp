//===- Jit.cpp - Just-in-time compilation ---------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compilation followed by Session::open, as `heddle compile` does it. The artifact stays in memory,
// or in the cache folder for a Hugging Face folder, and has code for the session's device only.

#include "heddle/ExecutionEngine/Jit.h"

#include "heddle/Compiler/Compiler.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Support/Try.h"

namespace heddle {

namespace {

/// Options that compile for this processor, or for Vulkan, depending on the device.
CompileOptions compileOptions(const JitOptions &options) {
  CompileOptions result;
  bool vulkan = options.device.rfind("vulkan", 0) == 0;
  result.targets = {vulkan ? "vulkan" : "cpu"};
  result.cpus = {options.cpu.empty() ? "native" : options.cpu};
  result.vulkanLevel = options.vulkanLevel;
  static_cast<ImportOptions &>(result) = options;
  result.progress = options.progress;
  return result;
}

} // namespace

Expected<Session> jit(const std::string &model, const JitOptions &options) {
  SessionOptions session;
  session.device = options.device;
  session.threads = options.threads;
  session.vulkanLevel = options.vulkanLevel;
  session.progress = options.progress;
  if (isArtifactPath(model)) {
    HEDDLE_TRY(checkCompiled(model, compileOptions(options)));
    session.cpu = options.cpu;
    return Session::open(model, session);
  }
  CompileReport report;
  Artifact artifact = HEDDLE_TRY(compileOnce(model, compileOptions(options), &report));
  if (options.warning)
    for (const std::string &text : report.warnings)
      options.warning(text);
  if (options.note)
    for (const std::string &text : report.notes)
      options.note(text);
  return Session::fromArtifact(std::move(artifact), session);
}

} // namespace heddle
