//===- ProbeShader.h - Writer of small SPIR-V shaders -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes shaders without LLVM, word by word: one function, with a buffer of vec4s and an invocation
// number.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace heddle {

/// Writes the words of a module; result ids are assigned in order.
class SpirvWriter {
public:
  /// Adds an instruction without a result.
  void add(uint32_t opcode, const std::vector<uint32_t> &operands);
  uint32_t id() { return words[3]++; }
  /// Adds an instruction with a result and returns its id. `type` 0 defines a type.
  uint32_t make(uint32_t opcode, uint32_t type, const std::vector<uint32_t> &operands);
  /// Words of a null-terminated string.
  static std::vector<uint32_t> text(std::string_view characters);

  std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, 1, 0};
};

/// Features of a shader beyond Vulkan 1.1.
struct ShaderNeeds {
  uint32_t lanes = 64; ///< invocations per workgroup
  std::vector<uint32_t> capabilities = {};
  std::vector<std::string_view> extensions = {};
  bool vulkanMemory = false; ///< Vulkan's memory model instead of GLSL's
};

/// The common parts of all shaders: types, the buffer, and an open function with the invocation
/// number `x`.
struct ProbeShader : SpirvWriter {
  // clang-format off
  enum Opcode : uint32_t {
    Extension = 10, ExtInstImport = 11, ExtInst = 12, MemoryModel = 14, EntryPoint = 15,
    ExecutionMode = 16, Capability = 17, TypeVoid = 19, TypeBool = 20, TypeInt = 21, TypeFloat = 22,
    TypeVector = 23, TypeRuntimeArray = 29, TypeStruct = 30, TypePointer = 32, TypeFunction = 33,
    Constant = 43, ConstantComposite = 44, Function = 54, FunctionEnd = 56, Variable = 59, Load = 61,
    Store = 62, AccessChain = 65, Decorate = 71, MemberDecorate = 72, CompositeConstruct = 80,
    CompositeExtract = 81, ConvertUToF = 112, IAdd = 128, FAdd = 129, IMul = 132, UDiv = 134,
    UMod = 137, ULessThan = 176, Phi = 245, LoopMerge = 246, Label = 248, Branch = 249,
    BranchConditional = 250, Return = 253, SDot = 4450, TypeCooperativeMatrix = 4456,
    CooperativeMatrixLoad = 4457, CooperativeMatrixStore = 4458, CooperativeMatrixMulAdd = 4459
  };
  // clang-format on
  static constexpr uint32_t input = 1, storageBuffer = 12, fma = 50;

  /// Begins a module. `declare` adds types and constants, which must precede the function.
  ProbeShader(const ShaderNeeds &needs, const std::function<void(ProbeShader &)> &declare);

  uint32_t constant(uint32_t value) { return constantOf(number32, value); }
  uint32_t constantOf(uint32_t type, uint32_t value) { return make(Constant, type, {value}); }
  uint32_t splat(float value);
  uint32_t place(uint32_t index) { return make(AccessChain, placePointer, {memory, zero, index}); }
  /// Adds a loop of `rounds` iterations (a constant) and returns the values after it. `round`
  /// updates the values by one iteration; all have type `type`.
  std::vector<uint32_t> loop(uint32_t rounds, uint32_t type, const std::vector<uint32_t> &starts,
                             const std::function<void(std::vector<uint32_t> &)> &round);
  /// Sum of values, by FAdd or IAdd.
  uint32_t sumOf(Opcode addition, uint32_t type, const std::vector<uint32_t> &values);
  /// Ends the function and returns the module's words.
  std::vector<uint32_t> end();

  uint32_t glsl = 0, number32 = 0, float32 = 0, truth = 0, vec4 = 0, placePointer = 0, memory = 0,
           zero = 0, one = 0, x = 0;

private:
  void head(const ShaderNeeds &needs, uint32_t main, uint32_t number);

  uint32_t block = 0; ///< label of the current block
};

} // namespace heddle
