//===- CodeGeneration.h - Code generation for all targets ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generation of an artifact's code members from a module at stage `program`.
#pragma once

#include "Compilation.h"
#include "heddle/Target/CpuTarget.h"

namespace heddle {

/// The program and the code of all targets, as the artifact stores them.
struct GeneratedCode {
  struct Cpu {
    std::string isa;
    std::vector<std::string> features;
    std::vector<char> object;
  };
  struct Shader {
    std::string member; ///< name in the artifact
    std::vector<uint32_t> words;
  };
  std::vector<Cpu> cpu;
  std::vector<Shader> shaders;
  Program program;
  int pieces = 0, cachedPieces = 0; ///< see CompileReport
};

/// Instruction sets of `--cpu`, each once, in the given order; the default for the dtype if the
/// option is empty.
Expected<std::vector<std::string>> checkedCpus(const CompileOptions &options);

/// All properties of an instruction set on which code may depend, for cache keys.
std::string targetText(const CpuTarget &cpu);

/// Records the device requirements of each variant. Drops variants whose code equals a lower
/// level's, together with their shaders.
Status finishVariants(Program &program, std::vector<GeneratedCode::Shader> &shaders);

/// Generates the code of every kernel for the options' targets (each instruction set, each level of
/// Vulkan), and the program that launches it. Kernels are compiled on all cores.
Expected<GeneratedCode> generateCode(Compilation &compilation, const CompileOptions &options);

} // namespace heddle
