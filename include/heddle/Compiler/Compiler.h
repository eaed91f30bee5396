//===- Compiler.h - Interface of the compiler ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a model (a `.json` description, a folder with `model.json`, a Hugging Face
// folder or a `.mlir` file) to an artifact in a file or in memory. Weights never enter
// the IR: they are packed from the mapped checkpoint into the artifact at the end.
// This header needs no MLIR headers.
#pragma once

#include "heddle/Import/ImportOptions.h"
#include "heddle/Pipelines/Stage.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace heddle {

class Artifact;

/// With `needsWeights` false the checkpoint is not opened unless `weights` names one.
struct CompileOptions : ImportOptions {
  std::vector<std::string> targets = {"cpu", "vulkan"};
  /// Instruction sets of the CPU code: "x86-64-v2", …, "native". Empty: x86-64-v2, -v3 and -v4, and
  /// sets with instructions for the products of `dtype`, if there are any.
  std::vector<std::string> cpus;
  /// The highest level of Vulkan devices that kernels are compiled for; none: all at which some
  /// kernel is written in a way of its own (docs/gpu.md).
  std::optional<int> vulkanLevel;
  /// Of products: a name of Support/Formats.h; empty: the model's, see chooseFormat.
  std::string dtype;
  /// Type of keys and values that sessions keep: f32, bf16, f16 or int8; empty: it follows `dtype`.
  std::string cacheDtype;
  /// Files to be written: error if the model is read from one of them.
  std::vector<std::string> outputs;
  /// Callback with a short phrase at the beginning of each phase.
  std::function<void(const std::string &phase)> progress;
  /// Callback for warnings of models that are opened for a report; a compilation has a CompileReport.
  std::function<void(const std::string &text)> warning;
  /// Callback behind the stage `tiled`, once a target: sees the kernels and may change them before
  /// code is generated.
  std::function<void(mlir::ModuleOp tiled)> onTiled;
};

/// Statistics and messages of a compilation, for the tools to print.
struct CompileReport {
  int kernels = 0;
  /// Pieces of code (a kernel for one instruction set or one level of Vulkan), and the number of
  /// those from the cache folder.
  int pieces = 0, cachedPieces = 0;
  int64_t artifactBytes = 0, weightBytes = 0;
  double codeSeconds = 0, packSeconds = 0;
  std::vector<std::string> warnings;
  std::vector<std::string> remarks; ///< simplifications: "… is a band and becomes …"
  /// The format that was chosen for a quantised file; why a compiled folder is not kept.
  std::vector<std::string> notes;
};

/// The number format of a model, and a note for the user where it was chosen and loses bits.
struct FormatChoice {
  std::string dtype, note;
};
/// `dtype` if it is not empty. Else that of the model: int4 for a GGUF file most of whose numbers
/// are Q4_0 or Q4_1, whose codes it keeps; bf16 for one of another quantised type; f32 for all
/// others. Error if a GGUF file cannot be read.
Expected<FormatChoice> chooseFormat(const std::string &model, const std::string &dtype);

/// Whether `path` names a compiled file, by its extension `.heddle`.
bool isArtifactPath(const std::string &path);
/// Usage error for options that a compiled file cannot take: masks, part, weights, dtype.
Status checkCompiled(const std::string &path, const CompileOptions &options);

/// Compiles into a file, which appears atomically. Equal models and options give equal bytes.
Expected<CompileReport> compileModel(const std::string &model, const std::string &output,
                                     const CompileOptions &options = {});

/// Compiles into memory, for the JIT compiler.
Expected<Artifact> compileToMemory(const std::string &model, const CompileOptions &options = {},
                                   CompileReport *report = nullptr);

/// The same, but a Hugging Face folder that was compiled before is only opened: its compiled file is
/// kept in the cache folder (Support/CacheFolder.h), where the folder is known by its content.
/// Where it cannot be kept, a note in the report says why.
Expected<Artifact> compileOnce(const std::string &model, const CompileOptions &options = {},
                               CompileReport *report = nullptr);

/// Text of what the cache folder holds: each compiled folder, and sums of all else.
std::string cacheText();
/// Deletes all of it; the number of files and their bytes.
std::pair<size_t, uintmax_t> clearCache();

/// Text of the module after a stage; usage error for `artifact`, which is not text. Stages after
/// `program` use the first target and instruction set of the options that fit. With `binary`, the
/// stage `spirv` of a model with one kernel is the module's words instead.
Expected<std::string> emitStage(const std::string &model, Stage stage,
                                const CompileOptions &options = {}, bool binary = false);

/// JSON Schema of model descriptions.
std::string descriptionSchema();

} // namespace heddle
