//===- CodeGeneration.h - Code generation for all targets ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers a module from stage `program` to the code members of an artifact.
#pragma once

#include "Compilation.h"
#include "heddle/Target/CpuTarget.h"

namespace heddle {

/// Code of all targets, as the artifact stores it, and the program.
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

/// Targets of `--target`, each once; usage error for an unknown name or an empty list.
Expected<std::vector<TargetKind>> checkedTargets(const std::vector<std::string> &names);

/// Instruction sets of `--cpu`, each once, in the given order; without any, the default for the
/// dtype.
Expected<std::vector<std::string>> checkedCpus(const CompileOptions &options);

/// All properties of an instruction set that code may depend on, for keys of caches.
std::string targetText(const CpuTarget &cpu);

/// Writes down what each variant needs of a device, and drops variants whose code is that of a lower
/// level, with their shaders.
Status finishVariants(Program &program, std::vector<GeneratedCode::Shader> &shaders);

/// Code of every kernel for the options' targets (each instruction set, each level of Vulkan), and
/// the program that launches it. Kernels are compiled on all cores.
Expected<GeneratedCode> generateCode(Compilation &compilation, const CompileOptions &options);

} // namespace heddle
