//===- VulkanProbe.cpp - Rates of a Vulkan device -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shaders in pseudocode, x the number of the invocation:
//
//   multiply-add   vec4 a[8] = x; for (i < loops) for (u < unrolled) a[j] = fma(a[j], c, d[j])
//                  memory[x % places] = sum of a
//   copy           memory[copied + x] = memory[x]
#include "VulkanProbe.h"

#include "heddle/Runtime/Vulkan/VulkanCode.h"
#include "heddle/Support/Try.h"

#include <bit>
#include <chrono>

namespace heddle {

namespace {

constexpr uint32_t lanes = 64, loops = 256, unrolled = 4, chains = 8;
constexpr int64_t copiedGroups = 32768;
constexpr uint32_t copied = lanes * copiedGroups, places = copied; ///< in vec4: 32 MiB
constexpr int64_t groupFlops = int64_t{lanes} * loops * unrolled * chains * 4 * 2;
constexpr int64_t copiedBytes = int64_t{copied} * 16;
/// A measurement of so many seconds is long enough; one of so many groups at most.
constexpr double enough = 0.004;
constexpr int64_t mostGroups = 65535;

/// Writes the words of a module; results are numbered in the order of their instructions.
class Module {
public:
  /// An instruction without a result.
  void add(uint32_t opcode, const std::vector<uint32_t> &operands) {
    words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
    words.insert(words.end(), operands.begin(), operands.end());
  }
  uint32_t id() { return words[3]++; }
  /// An instruction whose result has the number that it returns; `type` 0: the result is a type.
  uint32_t make(uint32_t opcode, uint32_t type, const std::vector<uint32_t> &operands) {
    uint32_t result = id();
    std::vector<uint32_t> all = type ? std::vector{type, result} : std::vector{result};
    all.insert(all.end(), operands.begin(), operands.end());
    add(opcode, all);
    return result;
  }

  std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, 1, 0};
};

/// What both shaders have: types, the memory, and `x` in a function that is open.
struct Shader : Module {
  // clang-format off
  enum Opcode : uint32_t {
    ExtInstImport = 11, ExtInst = 12, MemoryModel = 14, EntryPoint = 15, ExecutionMode = 16,
    Capability = 17, TypeVoid = 19, TypeBool = 20, TypeInt = 21, TypeFloat = 22, TypeVector = 23,
    TypeRuntimeArray = 29, TypeStruct = 30, TypePointer = 32, TypeFunction = 33, Constant = 43,
    ConstantComposite = 44, Function = 54, FunctionEnd = 56, Variable = 59, Load = 61, Store = 62,
    AccessChain = 65, Decorate = 71, MemberDecorate = 72, CompositeConstruct = 80,
    CompositeExtract = 81, ConvertUToF = 112, IAdd = 128, FAdd = 129, UMod = 137, ULessThan = 176,
    Phi = 245, LoopMerge = 246, Label = 248, Branch = 249, BranchConditional = 250, Return = 253
  };
  // clang-format on
  static constexpr uint32_t input = 1, storageBuffer = 12, fma = 50;

  Shader() {
    const uint32_t main = id(), number = id(), memoryId = id(), array = id(), structure = id();
    add(Capability, {1});
    glsl = make(ExtInstImport, 0, {0x4c534c47, 0x6474732e, 0x3035342e, 0}); // "GLSL.std.450"
    add(MemoryModel, {0, 1});
    add(EntryPoint, {5, main, 0x6e69616d, 0, number}); // "main"
    add(ExecutionMode, {main, 17, lanes, 1, 1});
    add(Decorate, {number, 11, 28}); // GlobalInvocationId
    add(Decorate, {array, 6, 16});   // stride
    add(MemberDecorate, {structure, 0, 35, 0});
    add(Decorate, {structure, 2});
    add(Decorate, {memoryId, 34, 0}); // set and binding
    add(Decorate, {memoryId, 33, 0});
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
    memory = memoryId;
    add(Variable, {memoryPointer, memory, storageBuffer});
    zero = constant(0);
    one = constant(1);
    factor = splat(0.999f);
    for (uint32_t chain = 0; chain < chains; ++chain) // equal chains might become one
      terms.push_back(splat(0.001f * static_cast<float>(chain + 1)));
    loopCount = constant(loops);
    placeCount = constant(places);
    offset = constant(copied);
    add(Function, {nothing, main, 0, type});
    entry = make(Label, 0, {});
    x = make(CompositeExtract, number32, {make(Load, three, {number}), 0});
  }

  uint32_t constant(uint32_t value) { return make(Constant, number32, {value}); }
  uint32_t splat(float value) {
    uint32_t one = make(Constant, float32, {std::bit_cast<uint32_t>(value)});
    return make(ConstantComposite, vec4, {one, one, one, one});
  }
  uint32_t place(uint32_t index) { return make(AccessChain, placePointer, {memory, zero, index}); }
  std::vector<uint32_t> end() {
    add(Return, {});
    add(FunctionEnd, {});
    return words;
  }

  uint32_t glsl, number32, float32, truth, vec4, placePointer, memory, zero, one, factor, loopCount,
      placeCount, offset, entry, x;
  std::vector<uint32_t> terms; ///< of each chain
};

std::vector<uint32_t> copyWords() {
  Shader s;
  uint32_t value = s.make(Shader::Load, s.vec4, {s.place(s.x)});
  s.add(Shader::Store, {s.place(s.make(Shader::IAdd, s.number32, {s.x, s.offset})), value});
  return s.end();
}

/// The chains of one pass through the loop.
std::vector<uint32_t> multiplied(Shader &s, std::vector<uint32_t> sums) {
  for (uint32_t u = 0; u < unrolled; ++u)
    for (uint32_t chain = 0; chain < chains; ++chain)
      sums[chain] = s.make(Shader::ExtInst, s.vec4,
                           {s.glsl, Shader::fma, sums[chain], s.factor, s.terms[chain]});
  return sums;
}

std::vector<uint32_t> multiplyWords() {
  Shader s;
  uint32_t x = s.make(Shader::ConvertUToF, s.float32, {s.x}),
           start = s.make(Shader::CompositeConstruct, s.vec4, {x, x, x, x});
  const uint32_t header = s.id(), body = s.id(), next = s.id(), end = s.id(), counter = s.id();
  s.add(Shader::Branch, {header});
  s.add(Shader::Label, {header});
  // The numbers that the phis take from the loop's end are known once its body is written, so room
  // is left for them.
  const uint32_t i = s.make(Shader::Phi, s.number32, {s.zero, s.entry, counter, next});
  std::vector<uint32_t> sums;
  std::vector<size_t> rooms;
  for (uint32_t chain = 0; chain < chains; ++chain) {
    sums.push_back(s.make(Shader::Phi, s.vec4, {start, s.entry, 0, next}));
    rooms.push_back(s.words.size() - 2);
  }
  uint32_t more = s.make(Shader::ULessThan, s.truth, {i, s.loopCount});
  s.add(Shader::LoopMerge, {end, next, 0});
  s.add(Shader::BranchConditional, {more, body, end});
  s.add(Shader::Label, {body});
  std::vector<uint32_t> after = multiplied(s, sums);
  for (uint32_t chain = 0; chain < chains; ++chain)
    s.words[rooms[chain]] = after[chain];
  s.add(Shader::Branch, {next});
  s.add(Shader::Label, {next});
  s.add(Shader::IAdd, {s.number32, counter, i, s.one});
  s.add(Shader::Branch, {header});
  s.add(Shader::Label, {end});
  uint32_t sum = sums.front();
  for (uint32_t chain = 1; chain < chains; ++chain)
    sum = s.make(Shader::FAdd, s.vec4, {sum, sums[chain]});
  s.add(Shader::Store, {s.place(s.make(Shader::UMod, s.number32, {s.x, s.placeCount})), sum});
  return s.end();
}

Kernel kernelOf(const char *name) {
  Kernel kernel;
  kernel.name = name;
  kernel.arguments = {{KernelArgument::Storage::Memory, true}};
  kernel.vulkan = {{{}, ArtifactWriter::vulkanMember(name), {lanes, 1, 1}}};
  return kernel;
}

} // namespace

Expected<VulkanProbe> VulkanProbe::create(int number) {
  Program program;
  program.model = "{}";
  program.kernels = {kernelOf("multiply"), kernelOf("copy")};
  ArtifactWriter writer(program);
  writer.addVulkan(ArtifactWriter::vulkanMember("multiply"), multiplyWords());
  writer.addVulkan(ArtifactWriter::vulkanMember("copy"), copyWords());
  VulkanProbe probe;
  probe.artifact = std::make_unique<Artifact>(
      HEDDLE_TRY(writer.build("probe", [](std::span<std::byte>) { return Status(); })));
  probe.code = HEDDLE_TRY(loadVulkanCode(*probe.artifact, number, 0));
  probe.device = HEDDLE_TRY(probe.code->createDevice(0));
  HEDDLE_TRY(probe.device->resize(2 * copiedBytes, 0));
  probe.device->keepTime();
  // Fills the memory, and finds how many groups take long enough.
  HEDDLE_TRY(probe.seconds(1, copiedGroups));
  while (probe.groups < mostGroups && HEDDLE_TRY(probe.seconds(0, probe.groups)) < enough)
    probe.groups = std::min(2 * probe.groups, mostGroups);
  return probe;
}

Expected<double> VulkanProbe::seconds(int kernel, int64_t count) {
  const LaunchAddress memory{false, 0, 2 * copiedBytes};
  LaunchCall call{.kernel = kernel, .arguments = {&memory, 1}};
  call.grid[2] = count;
  auto start = std::chrono::steady_clock::now();
  HEDDLE_TRY(device->begin());
  HEDDLE_TRY(device->launch(call, {}));
  HEDDLE_TRY(device->finish());
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return device->seconds().value_or(passed.count());
}

Expected<double> VulkanProbe::multiplyAdd() {
  return static_cast<double>(groups * groupFlops) / HEDDLE_TRY(seconds(0, groups));
}

Expected<double> VulkanProbe::copy() {
  return 2.0 * static_cast<double>(copiedBytes) / HEDDLE_TRY(seconds(1, copiedGroups));
}

} // namespace heddle
