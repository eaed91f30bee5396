//===- SpirvFacts.cpp - Resources of SPIR-V modules -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading of SPIR-V. One pass over the instructions sums the sizes of variables in Workgroup
// storage and collects matrix types. SPIR-V declares types before their uses.
#include "heddle/Support/SpirvFacts.h"

#include "heddle/Support/Try.h"
#include "heddle/Support/VulkanLevels.h"

#include <algorithm>
#include <bit>
#include <string>
#include <unordered_map>

namespace heddle {

namespace {

enum Opcode : uint32_t {
  OpExecutionMode = 16,
  OpCapability = 17,
  OpTypeBool = 20,
  OpTypeInt = 21,
  OpTypeFloat = 22,
  OpTypeVector = 23,
  OpTypeArray = 28,
  OpTypeStruct = 30,
  OpTypePointer = 32,
  OpConstant = 43,
  OpVariable = 59,
  OpGroupNonUniformShuffleXor = 346,
  OpTypeCooperativeMatrixKHR = 4456,
};
constexpr uint32_t magicNumber = 0x07230203, workgroupStorage = 4, localSize = 17;
/// Capabilities: of every module, of Vulkan 1.1, and of subgroup operations.
constexpr uint32_t matrixCapability = 0, shaderCapability = 1, firstOfSubgroups = 61,
                   lastOfSubgroups = 67, cooperativeMatrix = 6022;

class FactsReader {
public:
  SpirvFacts facts;

  /// Reads an instruction; `operands` are the words after the first.
  void visit(uint32_t opcode, std::span<const uint32_t> operands) {
    auto at = [&](size_t i) { return i < operands.size() ? operands[i] : 0; };
    switch (opcode) {
    case OpCapability:
      facts.capabilities.insert(at(0));
      break;
    case OpExecutionMode:
      if (at(1) == localSize)
        facts.invocations = int64_t{at(2)} * at(3) * at(4);
      break;
    case OpTypeBool:
      sizes[at(0)] = 4;
      break;
    case OpTypeInt:
      sizes[at(0)] = at(1) / 8;
      types[at(0)] = at(1) == 8 ? DType::I8 : DType::I32;
      break;
    case OpTypeFloat: // a third operand selects another encoding: bf16
      sizes[at(0)] = at(1) / 8;
      types[at(0)] = at(1) == 32 ? DType::F32 : operands.size() > 2 ? DType::BF16 : DType::F16;
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
    case OpGroupNonUniformShuffleXor: // two invocations are within twice the highest bit of the
                                      // mask
      facts.subgroup = std::max(facts.subgroup, 2 * static_cast<int64_t>(std::bit_floor(
                                                        static_cast<uint64_t>(constants[at(4)]))));
      break;
    case OpTypeCooperativeMatrixKHR: {
      const MatrixType type{types[at(1)], constants[at(3)], constants[at(4)]};
      if (constants[at(5)] < 3)
        matrices[constants[at(5)]].push_back(type);
      break;
    }
    default:
      break;
    }
  }

  /// Finds the shapes of all products that the types allow: left m x k, right k x n, sums m x n.
  void findProducts() {
    for (const MatrixType &left : matrices[0])
      for (const MatrixType &right : matrices[1])
        for (const MatrixType &sums : matrices[2]) {
          bool isCode = left.type == DType::I8, sumsCodes = sums.type == DType::I32;
          if (left.columns != right.rows || left.type != right.type || sums.rows != left.rows ||
              sums.columns != right.columns || isCode != sumsCodes)
            continue;
          MatrixShape shape{left.rows, right.columns, left.columns, left.type, sums.type};
          if (std::ranges::find(facts.matrices, shape) == facts.matrices.end())
            facts.matrices.push_back(shape);
        }
  }

private:
  struct MatrixType {
    DType type;
    int64_t rows, columns;
  };
  std::unordered_map<uint32_t, DType> types;
  std::vector<MatrixType> matrices[3]; ///< by use: left, right, sums
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
  reader.findProducts();
  return reader.facts;
}

Status findNeeds(std::span<const uint32_t> words, int64_t subgroup, VulkanVariant &variant) {
  SpirvFacts facts = HEDDLE_TRY(readSpirvFacts(words));
  variant.matrices = facts.matrices;
  variant.features.clear();
  bool subgroups = false;
  for (uint32_t capability : facts.capabilities) {
    if (capability == matrixCapability || capability == shaderCapability)
      continue;
    auto need = std::ranges::find(vulkanNeeds, capability, &VulkanNeed::capability);
    if (need == std::end(vulkanNeeds))
      return deviceError(
          "expected a capability of SPIR-V that devices are asked for, found number " +
          std::to_string(capability));
    variant.features.emplace_back(need->name);
    subgroups |= capability == cooperativeMatrix ||
                 (capability >= firstOfSubgroups && capability <= lastOfSubgroups);
  }
  variant.subgroup = subgroups ? subgroup : 0;
  if (!variant.subgroup && facts.subgroup > leastSubgroup)
    variant.features.push_back(subgroupSizeNeed(facts.subgroup));
  return {};
}

} // namespace heddle
