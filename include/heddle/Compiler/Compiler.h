//===- Compiler.h - Interface of the compiler ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a model (a `.json` description, a folder with `model.json`, a Hugging Face folder or a
// `.mlir` file) to an artifact in a file or in memory. Weights never enter the IR: they are packed
// from the mapped checkpoint into the artifact at the end.
#pragma once

#include "heddle/Import/ImportOptions.h"
#include "heddle/Pipelines/Stage.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

class Artifact;
struct TiledHook;

/// Options of a compilation. With `needsWeights` false the checkpoint is not opened unless
/// `weights` names one.
struct CompileOptions : ImportOptions {
  std::vector<std::string> targets = {"cpu", "vulkan"};
  /// Instruction sets of the CPU code: "x86-64-v2", …, "native". Empty: x86-64-v2, -v3 and -v4, and
  /// sets with instructions for the products of `dtype`, if there are any.
  std::vector<std::string> cpus;
  /// Highest level of Vulkan devices for which kernels are compiled; none: all levels at which some
  /// kernel has its own variant (docs/gpu.md).
  std::optional<int> vulkanLevel;
  /// Called with a short phrase when a phase begins.
  std::function<void(const std::string &phase)> progress;
  /// Called with warnings about models that are opened for a report. A compilation returns its
  /// warnings in CompileReport.
  std::function<void(const std::string &text)> warning;
  /// Called with each error of the transformer stage, of which a compilation returns the first one.
  std::function<void(const std::string &text)> error;
  /// Inspects kernels before code is generated; not for users. It must outlive the compilation.
  const TiledHook *onTiled = nullptr;
};

/// Statistics and messages of a compilation, for the tools to print.
struct CompileReport {
  int kernels = 0;
  /// Number of pieces of code (a kernel for one instruction set or one level of Vulkan), and how
  /// many of them are from the cache folder.
  int pieces = 0, cachedPieces = 0;
  int64_t artifactBytes = 0, weightBytes = 0;
  double codeSeconds = 0, packSeconds = 0;
  std::vector<std::string> warnings;
  std::vector<std::string> remarks; ///< simplifications: "… is a band and becomes …"
  /// Notes for the user: why a compiled folder is not kept.
  std::vector<std::string> notes;
};

/// `dtype` if it is not empty. Otherwise the model's format: `file` for a GGUF file with mostly
/// quantized numbers or a folder of MXFP4 matrices, whose codes it keeps; f32 for all other models. Error if a GGUF file cannot be
/// read.
Expected<std::string> chooseFormat(const std::string &model, const std::string &dtype);

/// Whether `path` names a compiled file, by its extension `.heddle`.
bool isArtifactPath(const std::string &path);
/// Usage error for a choice (ModelChoices), which cannot change a compiled file.
Status checkCompiled(const std::string &path, const CompileOptions &options);

/// Compiles into a file, which is replaced atomically. Equal models and options give equal bytes.
Expected<CompileReport> compileModel(const std::string &model, const std::string &output,
                                     const CompileOptions &options = {});

/// Compiles into memory, for the JIT compiler.
Expected<Artifact> compileToMemory(const std::string &model, const CompileOptions &options = {},
                                   CompileReport *report = nullptr);

/// Like compileToMemory, but a Hugging Face folder that was compiled before is only opened: its
/// compiled file is kept in the cache folder (Support/CacheFolder.h), where the folder is
/// identified by its content. If it cannot be kept, a note in the report says why.
Expected<Artifact> compileOnce(const std::string &model, const CompileOptions &options = {},
                               CompileReport *report = nullptr);

/// Lists the cache folder: each compiled folder, and the totals of everything else.
std::string cacheText();
/// Deletes all files of the cache folder. Returns their number and their bytes.
std::pair<size_t, uintmax_t> clearCache();

/// Text of the module after a stage. Usage error for `artifact`, which is not text. Stages after
/// `program` use the first matching target and instruction set of the options. With `binary`, the
/// stage `spirv` of a model with one kernel is returned as the module's words.
Expected<std::string> emitStage(const std::string &model, Stage stage,
                                const CompileOptions &options = {}, bool binary = false);

/// JSON Schema of model descriptions.
std::string descriptionSchema();

} // namespace heddle
