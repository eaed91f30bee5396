//===- ProbeShader.h - Words of a small shader ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tools without LLVM write their few shaders word by word: one function, which sees the
// memory as vec4s and the number of its invocation.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace heddle {

/// Writes the words of a module; results are numbered in the order of their instructions.
class SpirvWriter {
public:
  /// An instruction without a result.
  void add(uint32_t opcode, const std::vector<uint32_t> &operands);
  uint32_t id() { return words[3]++; }
  /// An instruction whose result has the number that it returns; `type` 0: the result is a type.
  uint32_t make(uint32_t opcode, uint32_t type, const std::vector<uint32_t> &operands);
  /// Words of a string, its end included.
  static std::vector<uint32_t> text(std::string_view characters);

  std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, 1, 0};
};

/// What a shader has beside Vulkan 1.1.
struct ShaderNeeds {
  uint32_t lanes = 64; ///< invocations of a workgroup
  std::vector<uint32_t> capabilities = {};
  std::vector<std::string_view> extensions = {};
  bool vulkanMemory = false; ///< the memory model of Vulkan, not that of GLSL
};

/// What all shaders have: types, the memory, and `x` in a function that is open.
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

  /// `declare` adds types and constants of its own, which stand in front of the function.
  ProbeShader(const ShaderNeeds &needs, const std::function<void(ProbeShader &)> &declare);

  uint32_t constant(uint32_t value) { return constantOf(number32, value); }
  uint32_t constantOf(uint32_t type, uint32_t value) { return make(Constant, type, {value}); }
  uint32_t splat(float value);
  uint32_t place(uint32_t index) { return make(AccessChain, placePointer, {memory, zero, index}); }
  /// Values after a loop of so many rounds (a constant), which `round` takes on by one; all are of
  /// one type.
  std::vector<uint32_t> loop(uint32_t rounds, uint32_t type, const std::vector<uint32_t> &starts,
                             const std::function<void(std::vector<uint32_t> &)> &round);
  /// The sum of values, by FAdd or IAdd.
  uint32_t sumOf(Opcode addition, uint32_t type, const std::vector<uint32_t> &values);
  /// Ends the function; the module's words.
  std::vector<uint32_t> end();

  uint32_t glsl = 0, number32 = 0, float32 = 0, truth = 0, vec4 = 0, placePointer = 0, memory = 0,
           zero = 0, one = 0, x = 0;

private:
  void head(const ShaderNeeds &needs, uint32_t main, uint32_t number);

  uint32_t block = 0; ///< the label of the code that is being written
};

} // namespace heddle
