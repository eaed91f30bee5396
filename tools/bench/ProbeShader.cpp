//===- ProbeShader.cpp - Writer of small SPIR-V shaders -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ProbeShader.h"

#include <bit>

namespace heddle {

void SpirvWriter::add(uint32_t opcode, const std::vector<uint32_t> &operands) {
  words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
  words.insert(words.end(), operands.begin(), operands.end());
}

uint32_t SpirvWriter::make(uint32_t opcode, uint32_t type, const std::vector<uint32_t> &operands) {
  uint32_t result = id();
  std::vector<uint32_t> all = type ? std::vector{type, result} : std::vector{result};
  all.insert(all.end(), operands.begin(), operands.end());
  add(opcode, all);
  return result;
}

std::vector<uint32_t> SpirvWriter::text(std::string_view characters) {
  std::vector<uint32_t> packed(characters.size() / 4 + 1);
  for (size_t i = 0; i < characters.size(); ++i)
    packed[i / 4] |= static_cast<uint32_t>(static_cast<uint8_t>(characters[i])) << i % 4 * 8;
  return packed;
}

/// Writes the module's header, which precedes types.
void ProbeShader::head(const ShaderNeeds &needs, uint32_t main, uint32_t number) {
  constexpr uint32_t shader = 1, compute = 5, localSize = 17, logical = 0, glsl450 = 1, vulkan = 3;
  add(Capability, {shader});
  for (uint32_t capability : needs.capabilities)
    add(Capability, {capability});
  for (std::string_view extension : needs.extensions)
    add(Extension, text(extension));
  glsl = make(ExtInstImport, 0, text("GLSL.std.450"));
  add(MemoryModel, {logical, needs.vulkanMemory ? vulkan : glsl450});
  std::vector<uint32_t> entry = {compute, main};
  for (uint32_t word : text("main"))
    entry.push_back(word);
  entry.push_back(number);
  add(EntryPoint, entry);
  add(ExecutionMode, {main, localSize, needs.lanes, 1, 1});
}

ProbeShader::ProbeShader(const ShaderNeeds &needs,
                         const std::function<void(ProbeShader &)> &declare) {
  const uint32_t main = id(), number = id(), array = id(), structure = id();
  memory = id();
  head(needs, main, number);
  add(Decorate, {number, 11, 28}); // GlobalInvocationId
  add(Decorate, {array, 6, 16});   // stride
  add(MemberDecorate, {structure, 0, 35, 0});
  add(Decorate, {structure, 2});
  add(Decorate, {memory, 34, 0}); // descriptor set and binding
  add(Decorate, {memory, 33, 0});
  const uint32_t nothing = make(TypeVoid, 0, {}), type = make(TypeFunction, 0, {nothing});
  number32 = make(TypeInt, 0, {32, 0});
  float32 = make(TypeFloat, 0, {32});
  truth = make(TypeBool, 0, {});
  vec4 = make(TypeVector, 0, {float32, 4});
  const uint32_t three = make(TypeVector, 0, {number32, 3});
  add(TypeRuntimeArray, {array, vec4});
  add(TypeStruct, {structure, array});
  const uint32_t numberPointer = make(TypePointer, 0, {input, three}),
                 memoryPointer = make(TypePointer, 0, {storageBuffer, structure});
  placePointer = make(TypePointer, 0, {storageBuffer, vec4});
  add(Variable, {numberPointer, number, input});
  add(Variable, {memoryPointer, memory, storageBuffer});
  zero = constant(0);
  one = constant(1);
  declare(*this);
  add(Function, {nothing, main, 0, type});
  block = make(Label, 0, {});
  x = make(CompositeExtract, number32, {make(Load, three, {number}), 0});
}

uint32_t ProbeShader::splat(float value) {
  uint32_t each = constantOf(float32, std::bit_cast<uint32_t>(value));
  return make(ConstantComposite, vec4, {each, each, each, each});
}

std::vector<uint32_t> ProbeShader::loop(uint32_t rounds, uint32_t type,
                                        const std::vector<uint32_t> &starts,
                                        const std::function<void(std::vector<uint32_t> &)> &round) {
  const uint32_t header = id(), body = id(), next = id(), end = id(), counter = id();
  add(Branch, {header});
  add(Label, {header});
  // The phis' operands from the loop's end are known only after the body, so reserve their words.
  const uint32_t i = make(Phi, number32, {zero, block, counter, next});
  std::vector<uint32_t> values;
  std::vector<size_t> rooms;
  for (uint32_t start : starts) {
    values.push_back(make(Phi, type, {start, block, 0, next}));
    rooms.push_back(words.size() - 2);
  }
  uint32_t more = make(ULessThan, truth, {i, rounds});
  add(LoopMerge, {end, next, 0});
  add(BranchConditional, {more, body, end});
  add(Label, {body});
  std::vector<uint32_t> after = values;
  round(after);
  for (size_t value = 0; value < values.size(); ++value)
    words[rooms[value]] = after[value];
  add(Branch, {next});
  add(Label, {next});
  add(IAdd, {number32, counter, i, one});
  add(Branch, {header});
  add(Label, {end});
  block = end;
  return values;
}

uint32_t ProbeShader::sumOf(Opcode addition, uint32_t type, const std::vector<uint32_t> &values) {
  uint32_t sum = values.front();
  for (size_t i = 1; i < values.size(); ++i)
    sum = make(addition, type, {sum, values[i]});
  return sum;
}

std::vector<uint32_t> ProbeShader::end() {
  add(Return, {});
  add(FunctionEnd, {});
  return words;
}

} // namespace heddle
