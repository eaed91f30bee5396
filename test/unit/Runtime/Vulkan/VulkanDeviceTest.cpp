//===- VulkanDeviceTest.cpp - Limits, staging and the cache on disk ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks capabilities with HEDDLE_VULKAN_LIMITS. Results must not change, or a
// one-line error must explain why the device cannot run.
#include "TemporaryFolder.h"
#include "Toy.h"

#include "Vulkan/CommandRecorder.h"
#include "Vulkan/KernelPipelines.h"
#include "Vulkan/PipelineCache.h"
#include "heddle/Runtime/Vulkan/VulkanCode.h"
#include "heddle/Support/SpirvFacts.h"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

using namespace heddle;
using namespace heddle::test;

namespace {
class VulkanTest : public testing::Test {
protected:
  void SetUp() override {
    if (!hasVulkan())
      GTEST_SKIP() << "no Vulkan device or no glslangValidator";
  }
};

VulkanDeviceInfo firstDevice() {
  auto devices = listVulkanDevices();
  EXPECT_TRUE(devices) << devices.error().message;
  return devices ? devices->front() : VulkanDeviceInfo();
}

/// "" if tripling works under these limits, otherwise the error.
std::string tripleUnder(const std::string &limits, int64_t rows) {
  ScopedVariable mask("HEDDLE_VULKAN_LIMITS", limits);
  auto session = Session::fromArtifact(toyArtifact(), {.device = "vulkan", .poison = true});
  if (!session)
    return session.error().message;
  Tensor x = counting({1, rows, 20});
  auto outputs = session->run("triple", {{"x", x}});
  if (!outputs)
    return outputs.error().message;
  for (int64_t i = 0; i < x.size(); ++i)
    if ((*outputs)["y"].values<float>()[static_cast<size_t>(i)] != 3 * static_cast<float>(i))
      return "wrong value at " + std::to_string(i);
  return "";
}
} // namespace

TEST_F(VulkanTest, MinimumLimits) { EXPECT_EQ(tripleUnder("minimum", 100), ""); }

TEST_F(VulkanTest, GridsAreSplit) { EXPECT_EQ(tripleUnder("groups=3", 100), ""); }

TEST_F(VulkanTest, MemoryThatTheHostCannotReach) {
  EXPECT_EQ(tripleUnder("staging=1", 100), "");
  EXPECT_EQ(tripleUnder("staging=1", 20000), ""); // more than one staging buffer
}

TEST_F(VulkanTest, CachesInMemoryThatTheHostCannotReach) {
  ScopedVariable mask("HEDDLE_VULKAN_LIMITS", "staging=1");
  auto session = Session::fromArtifact(toyArtifact(), {.device = "vulkan"});
  ASSERT_TRUE(session) << session.error().message;
  ASSERT_TRUE(session->run("start", {{"x", counting({2, 16})}}));
  Tensor x = counting({2, 1, 16}), counts = ints({2}, {1, 1});
  ASSERT_TRUE(session->run("step", {{"x", x}, {"counts", counts}}));
  ASSERT_TRUE(session->run("reorder", {{"parents", ints({2}, {1, 0})}}));
  ASSERT_TRUE(session->run("triple", {{"x", counting({9, 100, 20})}})); // memory grows
  auto outputs = session->run("step", {{"x", Tensor(DType::F32, {2, 1, 16})}, {"counts", counts}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ((*outputs)["y"].values<float>()[0], 16);
  EXPECT_EQ((*outputs)["y"].values<float>()[16], 0);
}

TEST_F(VulkanTest, WindowsFollowTheArguments) {
  // 3 buffers of 12.8 KiB each and 2 MiB of slack exceed a window of 64 KiB.
  EXPECT_EQ(tripleUnder("range=65536", 100), "");
  EXPECT_THAT(
      tripleUnder("range=65536", 1000),
      testing::StartsWith("vulkan: kernel add: expected its memory within 65536 bytes, found "));
}

TEST_F(VulkanTest, NeedsBeyondTheLimitsAreOneLine) {
  EXPECT_EQ(tripleUnder("invocations=8", 1),
            "vulkan: kernel add: expected at most 8 invocations a workgroup, found 16");
  EXPECT_EQ(tripleUnder("buffers=2", 1),
            "vulkan: expected a device with 4 storage buffers a kernel, found 2");
  EXPECT_EQ(tripleUnder("speed=2", 1),
            "HEDDLE_VULKAN_LIMITS: expected minimum or name=value, found 'speed=2'");
}

/// y = x + x, then y += x in `launches` launches. Each launch has a block of words, and every
/// second one processes only the first row.
static Program wideProgram(int launches) {
  Program program = toyProgram();
  Kernel wide = program.kernels[0];
  wide.name = "wide";
  wide.cpu.reset();
  wide.vulkan.front().member = ArtifactWriter::vulkanMember("wide");
  wide.scalars.resize(30, "n");
  program.kernels.push_back(wide);
  Function function = program.functions[0];
  function.name = "wide";
  Launch launch = function.launches[0];
  launch.kernel = "wide";
  launch.arguments[2].index = 2;
  launch.scalars.resize(30, SizeExpr(7));
  function.launches = {launch};
  launch.arguments[1].index = 2;
  for (int n = 0; n < launches; ++n) {
    launch.scalars[0] = n % 2 ? function.buffers[0].elements : SizeExpr(32);
    function.launches.push_back(launch);
  }
  program.functions = {function};
  return program;
}

/// The result of recording and running nothing with modified driver functions.
static std::string runWith(const std::function<void(VolkDeviceTable &)> &change) {
  auto device = vulkan::LogicalDevice::open(0);
  EXPECT_TRUE(device) << device.error().message;
  auto &table = const_cast<VolkDeviceTable &>((*device)->functions());
  const VolkDeviceTable intact = table;
  auto recorder = vulkan::CommandRecorder::create(**device);
  EXPECT_TRUE(recorder) << recorder.error().message;
  (*recorder)->begin();
  change(table);
  Status status = (*recorder)->run();
  table = intact;
  intact.vkDeviceWaitIdle((*device)->handle());
  return status ? "" : status.error().message;
}

TEST_F(VulkanTest, TheDevicesOwnClock) {
  auto session = Session::fromArtifact(toyArtifact(), {.device = "vulkan"});
  ASSERT_TRUE(session) << session.error().message;
  Tensor x = counting({1, 3000, 20});
  NamedTensors outputs;
  std::vector<LaunchTime> times;
  auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(session->runTimed("triple", {{"x", x}}, outputs, times));
  std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  double sum = 0;
  for (const LaunchTime &time : times) {
    EXPECT_GT(time.seconds, 0);
    sum += time.seconds;
  }
  EXPECT_EQ(times.size(), 2u);
  EXPECT_LT(sum, all.count());
  EXPECT_EQ(outputs["y"].values<float>()[7], 21);
}

/// The program whose kernel `add` has variants with these levels, needs and workgroups.
static Artifact artifactWith(std::vector<VulkanVariant> variants) {
  Program program = toyProgram();
  for (VulkanVariant &variant : variants) {
    variant.grid = program.kernels[0].vulkan[0].grid;
    variant.member = program.kernels[0].vulkan[0].member;
  }
  program.kernels[0].vulkan = std::move(variants);
  return toyArtifact(program);
}

/// The level at which device 0 runs the kernel `add`, or the error.
static std::string levelOf(const Artifact &artifact, std::optional<int> level = {}) {
  auto device = vulkan::LogicalDevice::open(
      0, {.level = level, .features = vulkan::KernelPipelines::featuresOf(artifact.program())});
  if (!device)
    return device.error().message;
  auto made = vulkan::KernelPipelines::create(**device, artifact);
  return made ? std::to_string((*made)->variant(0)->level) : made.error().message;
}

TEST_F(VulkanTest, TheBestVariantThatTheDeviceCanRun) {
  const VulkanVariant plain{{}, "", {16, 1, 1}};
  VulkanVariant wide = plain, rare = plain;
  wide.level = 1;
  wide.features = {"subgroupBasic"};
  rare.level = 2;
  rare.features = {"subgroupBasic", "shaderTelepathy"};
  Artifact all = artifactWith({rare, plain, wide}), few = artifactWith({rare, wide});
  // A processor stays at level 0, and so does a device without level 1. A file without level 0
  // still runs.
  EXPECT_EQ(levelOf(all), std::to_string(std::min(1, firstDevice().level)));
  EXPECT_EQ(levelOf(all, 0), "0");
  EXPECT_EQ(levelOf(few), "1");
  auto session = Session::fromArtifact(std::move(all), {.device = "vulkan"});
  ASSERT_TRUE(session) << session.error().message;
  auto outputs = session->run("triple", {{"x", counting({1, 3, 20})}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ((*outputs)["y"].values<float>()[7], 21);
  // The minimum device has no features.
  ScopedVariable mask("HEDDLE_VULKAN_LIMITS", "minimum");
  EXPECT_EQ(levelOf(artifactWith({rare, plain, wide})), "0");
  EXPECT_THAT(
      levelOf(few),
      testing::StartsWith("vulkan: kernel add: expected a device with subgroupBasic (level 1), "
                          "or subgroupBasic, shaderTelepathy (level 2), found "));
}

TEST_F(VulkanTest, OfALevelTheLastVariant) {
  VulkanVariant first{{}, "", {16, 1, 1}};
  VulkanVariant last = first;
  last.features = {"subgroupBasic"};
  Artifact artifact = artifactWith({first, last});
  auto features = [&] {
    auto device = vulkan::LogicalDevice::open(0);
    auto made = vulkan::KernelPipelines::create(**device, artifact);
    EXPECT_TRUE(made) << made.error().message;
    return (*made)->variant(0)->features.size();
  };
  EXPECT_EQ(features(), 1u);
  ScopedVariable mask("HEDDLE_VULKAN_LIMITS", "minimum");
  EXPECT_EQ(features(), 0u);
}

TEST_F(VulkanTest, ALevelThatTheDeviceLacksIsOneLine) {
  const VulkanVariant plain{{}, "", {16, 1, 1}};
  Artifact artifact = artifactWith({plain});
  const int highest = firstDevice().highest;
  EXPECT_EQ(levelOf(artifact, highest), "0");
  EXPECT_THAT(levelOf(artifact, 9), testing::MatchesRegex("vulkan: .*: expected a level of 0.*, "
                                                          "found 9: .*"));
  ScopedVariable mask("HEDDLE_VULKAN_LIMITS", "minimum");
  EXPECT_EQ(firstDevice().highest, 0);
  EXPECT_THAT(levelOf(artifact, 1),
              testing::EndsWith("expected a level of 0, found 1: no subgroupBasic, "
                                "no subgroupVote, no subgroupArithmetic, no "
                                "subgroupBallot, no subgroupShuffle, no 32768 "
                                "bytes of shared memory, no 256 invocations a "
                                "workgroup"));
  ScopedVariable level("HEDDLE_VULKAN_LEVEL", "1");
  EXPECT_THAT(levelOf(artifact), testing::HasSubstr("expected a level of 0, found 1"));
  ScopedVariable word("HEDDLE_VULKAN_LEVEL", "high");
  EXPECT_EQ(levelOf(artifact),
            "HEDDLE_VULKAN_LEVEL: expected a number of at least 0, found 'high'");
}

TEST_F(VulkanTest, AKernelAsksForTheSizeOfItsSubgroups) {
  const VulkanSubgroups sizes = firstDevice().subgroups;
  VulkanVariant variant{{}, "", {16, 1, 1}};
  for (int64_t size : {sizes.least, sizes.usual, sizes.most}) {
    variant.subgroup = size;
    EXPECT_EQ(levelOf(artifactWith({variant})),
              sizes.chosen || size == sizes.usual ? "0" : "unreachable: kernels cannot choose");
  }
}

TEST_F(VulkanTest, AFormForFewRowsStandsBesideTheVariantOfItsLevel) {
  const VulkanVariant plain{{}, "", {16, 1, 1}};
  VulkanVariant few = plain, other = plain;
  few.rows = other.rows = 0;
  few.mostRows = other.mostRows = 4;
  other.level = 1;
  auto device = vulkan::LogicalDevice::open(0, {.level = 0});
  ASSERT_TRUE(device) << device.error().message;
  Artifact both = artifactWith({plain, few}), higher = artifactWith({plain, other});
  auto made = vulkan::KernelPipelines::create(**device, both);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->variant(0)->rows, -1);
  ASSERT_NE((*made)->variant(0, /*fewRows=*/true), nullptr);
  EXPECT_EQ((*made)->variant(0, /*fewRows=*/true)->mostRows, 4);
  made = vulkan::KernelPipelines::create(**device, higher);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->variant(0, /*fewRows=*/true), nullptr);
}

TEST_F(VulkanTest, ProcessorsTakeFormsForFewRowsOnlyIfALevelIsAskedFor) {
  const VulkanVariant plain{{}, "", {16, 1, 1}};
  VulkanVariant few = plain;
  few.rows = 0;
  few.mostRows = 4;
  auto device = vulkan::LogicalDevice::open(0);
  ASSERT_TRUE(device) << device.error().message;
  auto made = vulkan::KernelPipelines::create(**device, artifactWith({plain, few}));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->variant(0, /*fewRows=*/true) == nullptr, (*device)->physical().isSoftware());
}

TEST_F(VulkanTest, NeedsThatNoDeviceMeets) {
  VulkanVariant rare{{}, "", {16, 1, 1}};
  rare.features = {"shaderTelepathy"};
  EXPECT_THAT(levelOf(artifactWith({rare})),
              testing::StartsWith(
                  "vulkan: kernel add: expected a device with shaderTelepathy (level 0), found "));
  rare.features = {};
  rare.subgroup = 3;
  EXPECT_THAT(levelOf(artifactWith({rare})),
              testing::HasSubstr("expected a device with subgroups of 3 (level 0), found "));
  rare.subgroup = 0;
  rare.matrices = {{7, 7, 7}};
  EXPECT_THAT(levelOf(artifactWith({rare})),
              testing::HasSubstr("with matrices of f16 7x7x7 (level 0), found "));
}

TEST_F(VulkanTest, ALostDeviceIsOneLine) {
  const char *const lost = "vulkan: running kernels: the device was lost";
  auto isLost = [](auto...) { return VK_ERROR_DEVICE_LOST; };
  auto isLate = [](auto...) { return VK_TIMEOUT; };
  EXPECT_EQ(runWith([&](VolkDeviceTable &table) { table.vkQueueSubmit = isLost; }), lost);
  EXPECT_EQ(runWith([&](VolkDeviceTable &table) { table.vkWaitForFences = isLost; }), lost);
  // The wait never ends, but the fence reports the loss.
  EXPECT_EQ(runWith([&](VolkDeviceTable &table) {
              table.vkWaitForFences = isLate;
              table.vkGetFenceStatus = isLost;
            }),
            lost);
}

TEST_F(VulkanTest, ASessionBehindALostOne) {
  {
    ScopedVariable mask("HEDDLE_VULKAN_LIMITS", "lost=3"); // the first call prepares its kernel
    auto session = Session::fromArtifact(toyArtifact(), {.device = "vulkan"});
    ASSERT_TRUE(session) << session.error().message;
    Tensor x = counting({1, 3, 20});
    ASSERT_TRUE(session->run("triple", {{"x", x}}));
    for (int call = 0; call < 2; ++call) { // the first is lost, the second detects it
      auto outputs = session->run("triple", {{"x", x}});
      ASSERT_FALSE(outputs);
      EXPECT_EQ(outputs.error().kind, ErrorKind::Device);
      EXPECT_EQ(outputs.error().message, "vulkan: running kernels: the device was lost");
    }
  }
  EXPECT_EQ(tripleUnder("halves=1", 3), "");
}

TEST_F(VulkanTest, WithoutEnoughMemory) {
  ScopedVariable mask("HEDDLE_VULKAN_LIMITS", "memory=1048576");
  auto session = Session::fromArtifact(toyArtifact(), {.device = "vulkan"});
  auto outputs = session ? session->run("triple", {{"x", counting({1, 3, 20})}})
                         : Expected<NamedTensors>(session.takeError());
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().kind, ErrorKind::Device);
  EXPECT_THAT(outputs.error().message,
              testing::MatchesRegex("vulkan: allocating [0-9]+ bytes: out of device memory"));
}

TEST_F(VulkanTest, APipelineThatTheDriverRefuses) {
  auto device = vulkan::LogicalDevice::open(0);
  ASSERT_TRUE(device) << device.error().message;
  auto &table = const_cast<VolkDeviceTable &>((*device)->functions());
  for (auto [result, text] :
       {std::pair(VK_ERROR_OUT_OF_HOST_MEMORY, "out of host memory"),
        std::pair(VK_ERROR_INVALID_SHADER_NV, "the driver refuses the shader"),
        std::pair(VK_ERROR_UNKNOWN, "the driver does not say why"),
        std::pair(VK_ERROR_FRAGMENTATION, "result -1000161000")}) {
    static VkResult refusal;
    refusal = result;
    table.vkCreateComputePipelines = [](auto...) { return refusal; };
    auto made = vulkan::KernelPipelines::create(**device, toyArtifact());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, std::string("vulkan: compiling kernel add: ") + text);
    EXPECT_EQ(made.error().kind, ErrorKind::Device);
  }
}

/// The device offers all that the variants of level 1 need, but its driver refuses some of them.
TEST_F(VulkanTest, AVariantThatTheDriverRefuses) {
  VulkanVariant plain, higher;
  higher.level = 1;
  const Artifact both = artifactWith({plain, higher}), alone = artifactWith({higher});
  auto device = vulkan::LogicalDevice::open(0, {.level = 1});
  if (!device)
    GTEST_SKIP() << device.error().message;
  auto &table = const_cast<VolkDeviceTable &>((*device)->functions());
  static PFN_vkCreateComputePipelines compile;
  static int refused;
  compile = table.vkCreateComputePipelines;
  table.vkCreateComputePipelines = [](auto... arguments) {
    return refused-- > 0 ? VK_ERROR_UNKNOWN : compile(arguments...);
  };
  refused = 1;
  auto made = vulkan::KernelPipelines::create(**device, both);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->variant(0)->level, 0);
  EXPECT_THAT((*made)->refused(), testing::ElementsAre("add of level 1"));
  refused = 1;
  auto none = vulkan::KernelPipelines::create(**device, alone);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "vulkan: compiling kernel add: the driver does not say why");
}

TEST_F(VulkanTest, SlowKernelsAreWaitedFor) {
  static int polls;
  static PFN_vkWaitForFences wait;
  polls = 0;
  EXPECT_EQ(runWith([&](VolkDeviceTable &table) {
              wait = table.vkWaitForFences;
              table.vkWaitForFences = [](auto...) { return VK_TIMEOUT; };
              table.vkGetFenceStatus = [](VkDevice device, VkFence fence) {
                return ++polls < 100 ? VK_NOT_READY : wait(device, 1, &fence, VK_TRUE, UINT64_MAX);
              };
            }),
            "");
  EXPECT_EQ(polls, 100);
}

TEST_F(VulkanTest, EachLaunchHasItsOwnBlockOfWords) {
  // 200 blocks fit the buffer of blocks in every case; 2000 do not fit it in any case.
  for (int launches : {200, 2000}) {
    auto session = Session::fromArtifact(toyArtifact(wideProgram(launches)), {.device = "vulkan"});
    ASSERT_TRUE(session) << session.error().message;
    for (int call = 0; call < 2; ++call) {
      auto outputs = session->run("wide", {{"x", counting({1, 3, 20}, 1, 0)}});
      ASSERT_TRUE(outputs) << outputs.error().message;
      std::span<const float> y = (*outputs)["y"].values<float>();
      EXPECT_EQ(y[0], 2 + launches);
      EXPECT_EQ(y[20], 2 + launches / 2);
      EXPECT_EQ(y[59], 2 + launches / 2);
    }
  }
}

TEST_F(VulkanTest, ADeviceThatIsLostBetweenThePartsOfACall) {
  int failed = 0;
  for (int submission = 1; submission <= 6;
       ++submission) { // of kernels' first launches, then parts
    ScopedVariable mask("HEDDLE_VULKAN_LIMITS", "lost=" + std::to_string(submission));
    auto session = Session::fromArtifact(toyArtifact(wideProgram(200)), {.device = "vulkan"});
    ASSERT_TRUE(session) << session.error().message;
    for (int call = 0; call < 2; ++call) {
      auto outputs = session->run("wide", {{"x", counting({1, 3, 20}, 1, 0)}});
      failed += !outputs;
      if (!outputs)
        EXPECT_EQ(outputs.error().message, "vulkan: running kernels: the device was lost");
      else
        EXPECT_EQ((*outputs)["y"].values<float>()[0], 202);
    }
  }
  EXPECT_GT(failed, 6); // later submissions are lost too
}

/// The files of the cache folder under `home` after `code` was compiled on a driver that stores
/// `size` bytes. The real driver may store none.
static std::vector<std::filesystem::path> filesAfterSaving(const std::filesystem::path &home,
                                                           uint64_t code, size_t size) {
  auto device = vulkan::LogicalDevice::open(0);
  EXPECT_TRUE(device) << device.error().message;
  auto &table = const_cast<VolkDeviceTable &>((*device)->functions());
  static size_t kept;
  kept = size;
  table.vkGetPipelineCacheData = [](VkDevice, VkPipelineCache, size_t *count, void *data) {
    *count = kept;
    if (data)
      std::memset(data, 7, kept);
    return VK_SUCCESS;
  };
  auto cache = vulkan::PipelineCache::open(**device, code);
  EXPECT_TRUE(cache) << cache.error().message;
  cache->save();
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const auto &entry : std::filesystem::directory_iterator(home / "heddle", none))
    files.push_back(entry.path());
  return files;
}

TEST_F(VulkanTest, ADamagedPipelineCacheIsIgnored) {
  test::TemporaryFolder temporary;
  std::filesystem::path home = temporary.path() / "new";
  ScopedVariable cache("XDG_CACHE_HOME", home.string());
  EXPECT_TRUE(filesAfterSaving(home, 1, sizeof(VkPipelineCacheHeaderVersionOne)).empty());
  auto files = filesAfterSaving(home, 1, 4000);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(std::filesystem::file_size(files[0]), 4008u);
  // The file contains no pipeline of this driver, and then not even a complete entry.
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(filesAfterSaving(home, 1, 0).size(), 1u);
    std::ofstream(files[0], std::ios::binary | std::ios::trunc) << "damaged, longer than a hash";
  }
  EXPECT_EQ(filesAfterSaving(home, 2, 40).size(), 2u);
  EXPECT_EQ(tripleUnder("minimum", 10), "");
  ScopedVariable nowhere("XDG_CACHE_HOME", "/proc/nowhere");
  EXPECT_EQ(tripleUnder("minimum", 10), "");
}

TEST_F(VulkanTest, FactsOfAModule) {
  std::vector<uint32_t> words = readSpirv("attention");
  auto facts = readSpirvFacts(words);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->sharedBytes, 64 * 16 * 16 + 64 * 8 * 4);
  EXPECT_EQ(facts->invocations, 64);
  words.push_back(3 << 16); // an instruction of three words, two of them missing
  EXPECT_FALSE(readSpirvFacts(words));
  words.pop_back();
  words[0] = 0;
  EXPECT_FALSE(readSpirvFacts(words));
}

/// A kernel with the shaders `members`, each one level above the previous one.
static Expected<Artifact> artifactOf(const std::vector<std::string> &members) {
  Program program;
  Kernel &kernel = program.kernels.emplace_back();
  kernel.name = "attention";
  for (const std::string &member : members)
    kernel.vulkan.push_back({{},
                             ArtifactWriter::vulkanMember(member),
                             {64, 1, 1},
                             static_cast<int>(kernel.vulkan.size())});
  program.model = "{}";
  ArtifactWriter writer(program);
  for (const std::string &member : members)
    writer.addVulkan(ArtifactWriter::vulkanMember(member), readSpirv(member));
  return writer.build("witness", [](std::span<std::byte>) { return Status(); });
}

TEST_F(VulkanTest, SharedMemoryBeyondTheLimit) {
  ScopedVariable mask("HEDDLE_VULKAN_LIMITS", "minimum");
  auto artifact = artifactOf({"attention"}), both = artifactOf({"add", "attention"});
  ASSERT_TRUE(artifact) << artifact.error().message;
  ASSERT_TRUE(both) << both.error().message;
  auto code = loadVulkanCode(*artifact, 0);
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().message,
            "vulkan: kernel attention: expected at most 16384 bytes of shared memory, found 18432");
  EXPECT_EQ(levelOf(*both), "0");
}

TEST(Vulkan, WithoutADriver) {
  ScopedVariable icd("VK_ICD_FILENAMES", "/nonexistent.json"),
      drivers("VK_DRIVER_FILES", "/nonexistent.json");
  auto devices = listVulkanDevices();
  ASSERT_FALSE(devices);
  EXPECT_THAT(devices.error().message, testing::StartsWith("vulkan: no Vulkan driver found"));
  EXPECT_EQ(devices.error().kind, ErrorKind::Input);
}
