//===- CodeGeneration.h - Kernels as code of every target ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a module at stage `program` to the code members of an artifact.
#pragma once

#include "Compilation.h"

namespace heddle {

/// Code for one target, as the artifact stores it.
struct GeneratedCode {
  struct Cpu {
    std::string isa;
    std::vector<std::string> features;
    std::vector<char> object;
  };
  struct Shader {
    std::string member; ///< of the artifact
    std::vector<uint32_t> words;
  };
  std::vector<Cpu> cpu;
  std::vector<Shader> shaders;
  Program program;
  int pieces = 0, cachedPieces = 0; ///< a kernel for one instruction set, or its shader
};

/// Targets as `--target` names them, each once; none is an error.
Expected<std::vector<TargetKind>> checkedTargets(const std::vector<std::string> &names);

/// Instruction sets as `--cpu` names them, each once, in the given order; those of the dtype where
/// none is named.
Expected<std::vector<std::string>> checkedCpus(const CompileOptions &options);

/// Native code of every kernel for each instruction set, one shader a kernel, as the options'
/// targets ask, and the program that launches them. Kernels are compiled on all cores.
Expected<GeneratedCode> generateCode(Compilation &compilation, const CompileOptions &options);

} // namespace heddle
