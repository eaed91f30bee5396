//===- SpirvFacts.cpp - Resource use of a SPIR-V module ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass over the instructions sums the sizes of variables in Workgroup storage.
// SPIR-V declares types before their uses.
#include "SpirvFacts.h"

#include <string>
#include <unordered_map>

namespace heddle::vulkan {

namespace {

enum Opcode : uint32_t {
  OpExecutionMode = 16,
  OpTypeBool = 20,
  OpTypeInt = 21,
  OpTypeFloat = 22,
  OpTypeVector = 23,
  OpTypeArray = 28,
  OpTypeStruct = 30,
  OpTypePointer = 32,
  OpConstant = 43,
  OpVariable = 59,
};
constexpr uint32_t magicNumber = 0x07230203, workgroupStorage = 4, localSize = 17;

class FactsReader {
public:
  SpirvFacts facts;

  /// `operands` are the words after the first.
  void visit(uint32_t opcode, std::span<const uint32_t> operands) {
    auto at = [&](size_t i) { return i < operands.size() ? operands[i] : 0; };
    switch (opcode) {
    case OpExecutionMode:
      if (at(1) == localSize)
        facts.invocations = int64_t{at(2)} * at(3) * at(4);
      break;
    case OpTypeBool:
      sizes[at(0)] = 4;
      break;
    case OpTypeInt:
    case OpTypeFloat:
      sizes[at(0)] = at(1) / 8;
      break;
    case OpTypeVector:
      sizes[at(0)] = sizes[at(1)] * at(2);
      break;
    case OpTypeArray:
      sizes[at(0)] = sizes[at(1)] * constants[at(2)];
      break;
    case OpTypeStruct:
      for (uint32_t member : operands.subspan(operands.empty() ? 0 : 1))
        sizes[at(0)] += sizes[member];
      break;
    case OpTypePointer:
      pointees[at(0)] = at(2);
      break;
    case OpConstant:
      constants[at(1)] = at(2);
      break;
    case OpVariable:
      if (at(2) == workgroupStorage)
        facts.sharedBytes += sizes[pointees[at(0)]];
      break;
    default:
      break;
    }
  }

private:
  std::unordered_map<uint32_t, int64_t> sizes, constants;
  std::unordered_map<uint32_t, uint32_t> pointees;
};

} // namespace

Expected<SpirvFacts> readSpirvFacts(std::span<const uint32_t> words) {
  constexpr size_t header = 5;
  if (words.size() < header || words[0] != magicNumber)
    return inputError("expected a SPIR-V module, found other contents");
  FactsReader reader;
  for (size_t at = header; at < words.size();) {
    size_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at)
      return inputError("expected a SPIR-V module, found an instruction of " +
                        std::to_string(length) + " words at word " + std::to_string(at));
    reader.visit(words[at] & 0xffff, words.subspan(at + 1, length - 1));
    at += length;
  }
  return reader.facts;
}

} // namespace heddle::vulkan
