//===- ProbeKernels.cpp - Kernels that reach peak rates -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shaders in pseudocode; x is the invocation number, half the number of vec4s in half the
// buffer:
//
//   multiply-adds  vec4 a[8] = x; for (i < rounds) for (u < unrolled) a[j] = fma(a[j], c, d[j])
//                  memory[x % half] = sum of a
//   packed         i32 a[32] = x; for … a[j] = dot(a[j], c) + d[j], in bytes
//   matrices       a = memory[half …], b = memory[half …], s[4] = j; for … s[j] = a b + s[j]
//                  memory[group % half …] = sum of s
//   copy           for (u < 4) memory[half + p(u)] = memory[p(u)]
//   read           sum = 0; for (u < 16) sum += memory[p(u)]; memory[half + x] = sum
//                  p(u) = x / lanes * lanes * (4 or 16) + u * lanes + x % lanes: neighboring
//                  invocations have neighboring addresses, and all loads are in flight at once
//
// Each step of a chain uses the previous result, and the chains differ, so no compiler can remove
// one.
#include "ProbeKernels.h"

#include "ProbeShader.h"

#include "heddle/Support/Artifact.h"
#include "heddle/Support/Formats.h"
#include "heddle/Support/SpirvFacts.h"
#include "heddle/Support/Try.h"
#include "heddle/Support/VulkanLevels.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

namespace heddle {

namespace {

using S = ProbeShader;
using Ids = std::vector<uint32_t>;

constexpr uint32_t lanes = 64, unrolled = 4;

/// A shader whose invocations load `loads` vec4s each from the first half of the buffer. `store`
/// stores them from vec4 `half` on; `at` are their places.
std::vector<uint32_t> loadingWords(
    uint32_t loads, uint32_t half,
    const std::function<void(ProbeShader &, uint32_t half, const Ids &at, const Ids &values)>
        &store) {
  uint32_t second = 0, width = 0, group = 0;
  Ids steps;
  ProbeShader s({.lanes = lanes}, [&](ProbeShader &head) {
    second = head.constant(half);
    width = head.constant(lanes);
    group = head.constant(lanes * loads);
    for (uint32_t u = 0; u < loads; ++u)
      steps.push_back(head.constant(u * lanes));
  });
  const uint32_t lane = s.make(S::UMod, s.number32, {s.x, width}),
                 number = s.make(S::UDiv, s.number32, {s.x, width}),
                 first = s.make(S::IAdd, s.number32,
                                {s.make(S::IMul, s.number32, {number, group}), lane});
  Ids at, values;
  for (uint32_t step : steps)
    at.push_back(s.make(S::IAdd, s.number32, {first, step}));
  for (uint32_t place : at)
    values.push_back(s.make(S::Load, s.vec4, {s.place(place)}));
  store(s, second, at, values);
  return s.end();
}

void storeEach(ProbeShader &s, uint32_t half, const Ids &at, const Ids &values) {
  for (size_t u = 0; u < at.size(); ++u)
    s.add(S::Store, {s.place(s.make(S::IAdd, s.number32, {at[u], half})), values[u]});
}

void storeSum(ProbeShader &s, uint32_t half, const Ids &, const Ids &values) {
  s.add(S::Store,
        {s.place(s.make(S::IAdd, s.number32, {s.x, half})), s.sumOf(S::FAdd, s.vec4, values)});
}

ProbeCode multiplyAdds() {
  constexpr uint32_t rounds = 256, chains = 8;
  uint32_t half = 0, count = 0, factor = 0;
  Ids terms;
  ProbeShader s({.lanes = lanes}, [&](ProbeShader &head) {
    half = head.constant(probedHalf);
    count = head.constant(rounds);
    factor = head.splat(0.999f);
    for (uint32_t chain = 0; chain < chains; ++chain)
      terms.push_back(head.splat(0.001f * static_cast<float>(chain + 1)));
  });
  uint32_t x = s.make(S::ConvertUToF, s.float32, {s.x}),
           start = s.make(S::CompositeConstruct, s.vec4, {x, x, x, x});
  Ids sums = s.loop(count, s.vec4, Ids(chains, start), [&](Ids &sums) {
    for (uint32_t u = 0; u < unrolled; ++u)
      for (uint32_t chain = 0; chain < chains; ++chain)
        sums[chain] =
            s.make(S::ExtInst, s.vec4, {s.glsl, S::fma, sums[chain], factor, terms[chain]});
  });
  s.add(S::Store,
        {s.place(s.make(S::UMod, s.number32, {s.x, half})), s.sumOf(S::FAdd, s.vec4, sums)});
  return {.variant = {},
          .words = s.end(),
          .groupFlops = int64_t{lanes} * rounds * unrolled * chains * 4 * 2,
          .way = "multiply-adds of vec4"};
}

ProbeCode packedProducts() {
  constexpr uint32_t rounds = 256, chains = 32, capability = 6019, packedCapability = 6018,
                     packed = 0, bytes = 0x03fe7f05;
  uint32_t half = 0, count = 0, factor = 0;
  Ids terms;
  ProbeShader s({.lanes = lanes,
                 .capabilities = {capability, packedCapability},
                 .extensions = {"SPV_KHR_integer_dot_product"}},
                [&](ProbeShader &head) {
                  half = head.constant(probedHalf);
                  count = head.constant(rounds);
                  factor = head.constant(bytes);
                  for (uint32_t chain = 0; chain < chains; ++chain)
                    terms.push_back(head.constant(chain + 1));
                });
  Ids sums = s.loop(count, s.number32, Ids(chains, s.x), [&](Ids &sums) {
    for (uint32_t u = 0; u < unrolled; ++u)
      for (uint32_t chain = 0; chain < chains; ++chain)
        sums[chain] =
            s.make(S::IAdd, s.number32,
                   {s.make(S::SDot, s.number32, {sums[chain], factor, packed}), terms[chain]});
  });
  uint32_t sum = s.make(S::ConvertUToF, s.float32, {s.sumOf(S::IAdd, s.number32, sums)});
  s.add(S::Store, {s.place(s.make(S::UMod, s.number32, {s.x, half})),
                   s.make(S::CompositeConstruct, s.vec4, {sum, sum, sum, sum})});
  return {.variant = {},
          .words = s.end(),
          .groupFlops = int64_t{lanes} * rounds * unrolled * chains * 4 * 2,
          .way = "packed products"};
}

/// Requirements of matrices with operands of a type, in workgroups of one subgroup.
ShaderNeeds needsOf(DType operands, int64_t subgroup) {
  constexpr uint32_t memoryModel = 5345, matrices = 6022, float16 = 9, int8 = 39, bfloat16 = 5116,
                     bfloat16Matrices = 5118;
  ShaderNeeds needs{.lanes = static_cast<uint32_t>(subgroup),
                    .capabilities = {memoryModel, matrices},
                    .extensions = {"SPV_KHR_cooperative_matrix", "SPV_KHR_vulkan_memory_model"},
                    .vulkanMemory = true};
  if (operands == DType::BF16) {
    needs.capabilities.insert(needs.capabilities.end(), {bfloat16, bfloat16Matrices});
    needs.extensions.push_back("SPV_KHR_bfloat16");
  } else {
    needs.capabilities.push_back(operands == DType::I8 ? int8 : float16);
  }
  return needs;
}

/// Matrix types of a shape, and their row strides in vec4s.
struct MatrixTypes {
  enum Use : uint32_t { A, B, Sums };
  MatrixTypes(ProbeShader &s, const MatrixShape &shape)
      : isCode(shape.operands == DType::I8), constants(s), bytes(byteSize(shape.operands)) {
    sum = isCode ? s.make(S::TypeInt, 0, {32, 1}) : s.float32;
    constexpr uint32_t asBfloat16 = 0;
    uint32_t element = isCode                          ? s.make(S::TypeInt, 0, {8, 1})
                       : shape.operands == DType::BF16 ? s.make(S::TypeFloat, 0, {16, asBfloat16})
                                                       : s.make(S::TypeFloat, 0, {16});
    scope = s.constant(3); // subgroups
    a = matrix(element, shape.m, shape.k, A);
    b = matrix(element, shape.k, shape.n, B);
    sums = matrix(sum, shape.m, shape.n, Sums);
    rowsOfA = distance(shape.k * bytes);
    rowsOfB = distance(shape.n * bytes);
    rowsOfSums = distance(shape.n * 4);
  }

  bool isCode;
  uint32_t a, b, sums, sum, scope, rowsOfA, rowsOfB, rowsOfSums;

private:
  uint32_t matrix(uint32_t element, int64_t rows, int64_t columns, Use use) {
    return constants.make(S::TypeCooperativeMatrix, 0,
                          {element, scope, constants.constant(static_cast<uint32_t>(rows)),
                           constants.constant(static_cast<uint32_t>(columns)),
                           constants.constant(use)});
  }
  /// Stride of a row; rows below 16 bytes are padded to it.
  uint32_t distance(int64_t rowBytes) {
    return constants.constant(static_cast<uint32_t>((rowBytes + 15) / 16));
  }
  ProbeShader &constants;
  int64_t bytes;
};

ProbeCode matrixProducts(const VulkanLevel &way, const MatrixShape &shape) {
  constexpr uint32_t rounds = 64, chains = 4, allSigned = 15;
  uint32_t half = 0, count = 0, width = 0, places = 0;
  std::optional<MatrixTypes> types;
  Ids terms;
  ProbeShader s(needsOf(shape.operands, way.subgroup), [&](ProbeShader &head) {
    half = head.constant(probedHalf);
    count = head.constant(rounds);
    width = head.constant(static_cast<uint32_t>(way.subgroup));
    places = head.constant(static_cast<uint32_t>(shape.m * shape.n / 4));
    types.emplace(head, shape);
    for (uint32_t chain = 0; chain < chains; ++chain)
      terms.push_back(head.constantOf(
          types->sum, types->isCode ? chain : std::bit_cast<uint32_t>(static_cast<float>(chain))));
  });
  const MatrixTypes &t = *types;
  const uint32_t at = s.place(half), byRows = s.zero;
  uint32_t a = s.make(S::CooperativeMatrixLoad, t.a, {at, byRows, t.rowsOfA}),
           b = s.make(S::CooperativeMatrixLoad, t.b, {at, byRows, t.rowsOfB});
  Ids starts;
  for (uint32_t term : terms)
    starts.push_back(s.make(S::CompositeConstruct, t.sums, {term}));
  Ids sums = s.loop(count, t.sums, starts, [&](Ids &sums) {
    for (uint32_t u = 0; u < unrolled; ++u)
      for (uint32_t &sum : sums) {
        Ids operands = {a, b, sum};
        if (t.isCode)
          operands.push_back(allSigned);
        sum = s.make(S::CooperativeMatrixMulAdd, t.sums, operands);
      }
  });
  uint32_t group = s.make(S::UDiv, s.number32, {s.x, width}),
           index =
               s.make(S::UMod, s.number32, {s.make(S::IMul, s.number32, {group, places}), half}),
           sum = s.sumOf(t.isCode ? S::IAdd : S::FAdd, t.sums, sums);
  s.add(S::CooperativeMatrixStore, {s.place(index), sum, byRows, t.rowsOfSums});
  return {.variant = {.subgroup = way.subgroup},
          .words = s.end(),
          .groupFlops = int64_t{rounds} * unrolled * chains * shape.m * shape.n * shape.k * 2,
          .way = "matrices of " + matrixText(shape)};
}

/// Adds a variant to a kernel, for one subgroup size of a level.
Status addCode(const VulkanLevel &way, ProbeCode code, ProbeKernel &kernel) {
  VulkanVariant &variant = code.variant;
  variant.member = ArtifactWriter::vulkanMember(kernel.name, way.name());
  variant.level = way.level;
  HEDDLE_TRY(findNeeds(code.words, way.subgroup, variant));
  auto facts = HEDDLE_TRY(readSpirvFacts(code.words));
  variant.workgroup = {static_cast<int32_t>(facts.invocations), 1, 1};
  kernel.codes.push_back(std::move(code));
  return {};
}

} // namespace

Kernel ProbeKernel::kernel() const {
  Kernel kernel;
  kernel.name = name;
  kernel.arguments = {{KernelArgument::Storage::Memory, true}};
  for (const ProbeCode &code : codes)
    kernel.vulkan.push_back(code.variant);
  return kernel;
}

static ProbeKernel loadingKernel(std::string name, std::vector<uint32_t> words) {
  ProbeKernel kernel{std::move(name), {{.words = std::move(words)}}};
  VulkanVariant &variant = kernel.codes.front().variant;
  variant.member = ArtifactWriter::vulkanMember(kernel.name);
  variant.workgroup[0] = lanes;
  return kernel;
}

ProbeKernel copyKernel(uint32_t half) {
  return loadingKernel("copy", loadingWords(copyLoads, half, storeEach));
}

ProbeKernel readKernel(uint32_t half) {
  return loadingKernel("read", loadingWords(readLoads, half, storeSum));
}

int64_t groupsOf(uint32_t half, uint32_t loads) { return half / lanes / loads; }

Expected<ProbeKernel> multiplyKernel(DType type) {
  ProbeKernel kernel{std::string("multiply-") + toString(type), {}};
  const std::vector<VulkanLevel> &levels = vulkanLevels();
  HEDDLE_TRY(addCode(levels.front(), multiplyAdds(), kernel));
  for (const VulkanLevel &way : levels) {
    if (type == DType::I8 && std::ranges::count(way.features, "shaderIntegerDotProduct"))
      HEDDLE_TRY(addCode(way, packedProducts(), kernel));
    for (const MatrixShape &shape : way.matrices)
      if (shape.operands == type)
        HEDDLE_TRY(addCode(way, matrixProducts(way, shape), kernel));
  }
  return kernel;
}

} // namespace heddle
