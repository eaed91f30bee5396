//===- Compiler.h - Model in, artifact out ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The façade of the compiler. A model is a `.json` description, a folder with
// `model.json`, a Hugging Face folder or a `.mlir` file; what comes out is an
// artifact, in a file or in memory. Weights never enter the IR: they are packed
// from the mapped checkpoint into the artifact at the very end. No MLIR header
// is needed to include this one.
#pragma once

#include "heddle/Pipelines/Stage.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heddle {

class Artifact;

struct CompileOptions {
  std::vector<std::string> targets = {"cpu", "vulkan"};
  /// Instruction sets of the CPU code: "x86-64-v2", …, "native". None: x86-64-v2, -v3 and -v4, and
  /// where the dtype has instructions of its own, the sets that have them.
  std::vector<std::string> cpus;
  std::string dtype = "f32";      ///< of products: a name of Support/Formats.h
  std::vector<std::string> masks; ///< "NAME=EXPR", each replaces a mask of the model
  std::string weights;            ///< checkpoint of a `.mlir` model (safetensors)
  /// Files that will be written from the result: an error where the model is read from one.
  std::vector<std::string> outputs;
  /// A described model returns the attention weights of every layer and head, whatever it says.
  bool attentionWeights = false;
  bool countTiles = false; ///< for tests: attention gives the number of tiles it visits
  /// False: questions about the model do not open its checkpoint, unless `weights` names one.
  bool needsWeights = true;
  /// Called with a short phrase when a phase of a compilation begins.
  std::function<void(const std::string &phase)> progress;
};

/// What a compilation did, for the tools to print.
struct CompileReport {
  int kernels = 0;
  /// Pieces of code (a kernel for one instruction set, or its shader), and how many of them an
  /// earlier compilation left in the cache folder.
  int pieces = 0, cachedPieces = 0;
  int64_t artifactBytes = 0, weightBytes = 0;
  double codeSeconds = 0, packSeconds = 0;
  std::vector<std::string> warnings;
  std::vector<std::string> remarks; ///< what was simplified: "… is a band and becomes …"
};

/// True if `path` is a `.heddle` file: something to load, not to compile.
bool isArtifactPath(const std::string &path);
/// An error where an option would change what a compiled file has fixed.
Status checkCompiled(const std::string &path, const CompileOptions &options);

/// Compiles into a file, written beside its place and renamed. Equal models and options give equal
/// bytes.
Expected<CompileReport> compileModel(const std::string &model, const std::string &output,
                                     const CompileOptions &options = {});

/// Compiles into memory, weights packed once: what the JIT loads.
Expected<Artifact> compileToMemory(const std::string &model, const CompileOptions &options = {},
                                   CompileReport *report = nullptr);

/// The text of a stage (`artifact` is not text). The stages after `program` take the first target
/// and instruction set of the options that fits. With `binary`, `spirv` of a model that has one
/// kernel is the words of its module instead.
Expected<std::string> emitStage(const std::string &model, Stage stage,
                                const CompileOptions &options = {}, bool binary = false);

/// The JSON Schema of model descriptions.
std::string descriptionSchema();

} // namespace heddle
