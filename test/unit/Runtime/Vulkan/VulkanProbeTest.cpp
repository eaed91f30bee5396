//===- VulkanProbeTest.cpp - Rates of a Vulkan device ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rates depend on the device. Tests which loops are measured at each level, and
// that their modules are valid.
#include "bench/VulkanProbe.h"
#include "TemporaryFolder.h"
#include "Toy.h"

#include "heddle/Runtime/Vulkan/VulkanCode.h"

#include <gmock/gmock.h>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr DType probed[] = {DType::F32, DType::F16, DType::BF16, DType::I8};

ProbeKernel kernelOf(DType type) {
  auto kernel = multiplyKernel(type);
  EXPECT_TRUE(kernel) << kernel.error().message;
  return kernel ? std::move(*kernel) : ProbeKernel();
}

/// One line for each variant, such as "1 packed products".
std::string waysOf(const ProbeKernel &kernel) {
  std::string text;
  for (const ProbeCode &code : kernel.codes)
    text += std::to_string(code.variant.level) + " " + code.way + "\n";
  return text;
}

/// The message of spirv-val about a module; empty if the module is valid, or if this version does
/// not support its matrices.
std::string validate(const ProbeCode &code, const TemporaryFolder &folder) {
  std::string_view bytes(reinterpret_cast<const char *>(code.words.data()), code.words.size() * 4);
  const std::string module = folder.write("module.spv", bytes), said = folder / "said";
  const int status =
      std::system(("spirv-val --target-env vulkan1.1 " + module + " > " + said + " 2>&1").c_str());
  std::ifstream file(said);
  std::string text(std::istreambuf_iterator<char>(file), {});
  const bool isUnknown = !code.variant.matrices.empty() &&
                         text.find("Invalid capability operand: ") != std::string::npos;
  return status == 0 || isUnknown ? "" : code.way + ": " + text;
}

class VulkanProbeTest : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    if (!hasVulkan())
      GTEST_SKIP() << "no Vulkan device or no glslangValidator";
    // Debian 12's validation layer does not know the features of devices of level 2.
    if (auto devices = listVulkanDevices(); devices && devices->front().highest > 1)
      unchecked.emplace("HEDDLE_VULKAN_VALIDATION", "0");
  }
  std::optional<ScopedVariable> unchecked;
  // Drivers for processors emulate packed dot products; their loop is tested too.
  ScopedVariable limits{"HEDDLE_VULKAN_LIMITS", "dots=1"};
};
INSTANTIATE_TEST_SUITE_P(Levels, VulkanProbeTest, testing::Values(0, 1, 2));

} // namespace

TEST(ProbeKernels, HaveVariantsOfAllLevels) {
  EXPECT_EQ(waysOf(kernelOf(DType::F32)), "0 multiply-adds of vec4\n");
  EXPECT_EQ(waysOf(kernelOf(DType::I8)),
            "0 multiply-adds of vec4\n1 packed products\n2 matrices of i8 8x8x8\n"
            "2 matrices of i8 8x16x32\n2 matrices of i8 16x16x32\n2 matrices of i8 16x16x16\n");
  for (std::string type : {"f16", "bf16"})
    EXPECT_EQ(waysOf(kernelOf(type == "f16" ? DType::F16 : DType::BF16)),
              "0 multiply-adds of vec4\n2 matrices of " + type + " 8x8x8\n2 matrices of " + type +
                  " 8x16x16\n2 matrices of " + type + " 16x16x16\n");
}

TEST(ProbeKernels, VariantsNeedWhatTheirLevelOffers) {
  for (DType type : probed)
    for (const ProbeCode &code : kernelOf(type).codes) {
      const VulkanVariant &variant = code.variant;
      EXPECT_GT(code.groupFlops, 0);
      EXPECT_EQ(variant.matrices.size(), variant.level == 2 ? 1 : 0) << code.way;
      if (variant.level == 1)
        EXPECT_THAT(variant.features, testing::UnorderedElementsAre(
                                          "shaderIntegerDotProduct",
                                          "integerDotProduct4x8BitPackedSignedAccelerated"));
      if (variant.level < 2)
        continue;
      EXPECT_EQ(variant.matrices.front().operands, type);
      EXPECT_EQ(variant.workgroup[0], variant.subgroup) << code.way;
      EXPECT_THAT(variant.features,
                  testing::IsSupersetOf({"cooperativeMatrix", "vulkanMemoryModel"}));
      EXPECT_EQ(std::ranges::count(variant.features, "shaderBFloat16CooperativeMatrix"),
                type == DType::BF16);
    }
}

TEST(ProbeKernels, ModulesAreValid) {
  if (std::system("spirv-val --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "no spirv-val";
  TemporaryFolder folder;
  EXPECT_EQ(validate(copyKernel().codes.front(), folder), "");
  for (DType type : probed)
    for (const ProbeCode &code : kernelOf(type).codes)
      EXPECT_EQ(validate(code, folder), "");
  ProbeCode broken = copyKernel().codes.front();
  broken.words.pop_back();
  EXPECT_NE(validate(broken, folder), "");
}

TEST_P(VulkanProbeTest, MeasuresWhatTheLevelMultiplies) {
  const int level = GetParam();
  auto probe = VulkanProbe::create(0, level, {DType::F16, DType::BF16, DType::I8});
  if (!probe && probe.error().message.find("expected a level of 0") != std::string::npos)
    GTEST_SKIP() << probe.error().message;
  ASSERT_TRUE(probe) << probe.error().message;
  auto copied = probe->copy(), plain = probe->multiplyAdd();
  ASSERT_TRUE(copied && plain);
  EXPECT_GT(*copied, 0);
  EXPECT_GT(*plain, 0);
  EXPECT_EQ(probe->wayOf(DType::F32), "multiply-adds of vec4");
  const std::vector<DType> own = probe->ownTypes();
  for (DType type : own) {
    auto rate = probe->multiplyAdd(type);
    ASSERT_TRUE(rate) << rate.error().message;
    EXPECT_GT(*rate, 0) << toString(type);
  }
  if (level == 0)
    EXPECT_THAT(own, testing::IsEmpty());
  if (level == 1) {
    EXPECT_THAT(own, testing::ElementsAre(DType::I8));
    EXPECT_EQ(probe->wayOf(DType::I8), "packed products");
  }
  if (level == 2) {
    EXPECT_THAT(own, testing::Contains(DType::F16));
    EXPECT_THAT(probe->wayOf(DType::F16), testing::StartsWith("matrices of f16 "));
  }
}
