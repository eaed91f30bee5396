//===- ArtifactTest.cpp - Tests of the artifact -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that contents are read back as written, from a file and from memory,
// and that errors distinguish versions, missing members and damage.

#include "heddle/Support/Artifact.h"
#include "TemporaryFolder.h"
#include "TestProgram.h"

#include <cstring>
#include <gmock/gmock.h>

using namespace heddle;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

namespace {

Status fillWeights(std::span<std::byte> weights) {
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<std::byte>(i % 251);
  return {};
}

ArtifactWriter testWriter() {
  ArtifactWriter writer(testProgram());
  writer.addCpu("x86-64-v3", {"avx2", "fma"}, {'c', 'o', 'd', 'e'});
  std::vector<uint32_t> words(100, 7);
  words.front() = 0x07230203;
  writer.addVulkan(ArtifactWriter::vulkanMember("attend"), words);
  writer.setFused("ML\xefR");
  writer.addText("source.txt", "a\nb\n");
  return writer;
}

void expectContents(const Artifact &artifact) {
  EXPECT_EQ(toJson(artifact.program()), toJson(testProgram()));
  ASSERT_EQ(artifact.cpu().size(), 1u);
  EXPECT_EQ(artifact.cpu()[0].isa, "x86-64-v3");
  EXPECT_THAT(artifact.cpu()[0].features, testing::ElementsAre("avx2", "fma"));
  EXPECT_EQ(artifact.code(artifact.cpu()[0])->size(), 4u);
  EXPECT_TRUE(artifact.hasVulkan());
  EXPECT_EQ(artifact.vulkan("vulkan/l0/attend.spv")->size(), 400u);
  EXPECT_TRUE(artifact.vulkan("vulkan/l0/other.spv")->empty());
  EXPECT_EQ(artifact.fused()->size(), 4u);
  EXPECT_EQ(artifact.text("source.txt"), "a\nb\n");
  EXPECT_FALSE(artifact.text("target.txt"));
  EXPECT_EQ(artifact.weights().size(), 8448u);
  EXPECT_EQ(artifact.weights()[252], std::byte(1));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(artifact.weights().data()) % 4096, 0u);
  EXPECT_TRUE(artifact.check());
}

TEST(Artifact, FileAndMemoryHoldTheSame) {
  test::TemporaryFolder folder;
  std::string path = folder / "artifact";
  ASSERT_TRUE(testWriter().writeFile(path, fillWeights));
  auto file = readArtifact(path);
  ASSERT_TRUE(file) << file.error().message;
  Artifact moved = std::move(*file);
  expectContents(moved);
  auto memory = testWriter().build("model.json", fillWeights);
  ASSERT_TRUE(memory) << memory.error().message;
  expectContents(*memory);
  EXPECT_EQ(memory->members().size(), moved.members().size());
  EXPECT_EQ(memory->members().back().crc, moved.members().back().crc);
  // Members that deflation shortens are deflated, but only in files.
  auto isDeflated = [](const Artifact &artifact, const char *name) {
    return std::ranges::find(artifact.members(), name, &ContainerMember::name)->isDeflated;
  };
  EXPECT_TRUE(isDeflated(moved, "heddle.json"));
  EXPECT_TRUE(isDeflated(moved, "vulkan/l0/attend.spv"));
  EXPECT_FALSE(isDeflated(moved, "cpu/x86-64-v3.so"));
  EXPECT_FALSE(isDeflated(*memory, "heddle.json"));
}

/// The error of reading a container built by hand.
std::string errorOf(std::initializer_list<std::pair<const char *, std::string>> members,
                    uint32_t alignment = 4096) {
  ContainerWriter writer;
  for (const auto &[name, data] : members)
    writer.add(name, std::as_bytes(std::span(data.data(), data.size())), alignment);
  auto artifact = Artifact::fromBytes(std::move(*writer.writeMemory()), "m.heddle");
  return artifact ? "no error" : artifact.error().message;
}

std::string version(int offset = 0) {
  return R"({"heddle":)" + std::to_string(artifactFormat + offset);
}

std::string manifest(const std::string &cpu, const std::string &texts) {
  const char *program = R"({"functions":[],"kernels":[],"weights":[],"pack":[],)"
                        R"("weight_bytes":0,"model":""})";
  return version() + R"(,"cpu":)" + cpu + R"(,"texts":)" + texts + R"(,"program":)" + program + "}";
}

TEST(Artifact, ManifestIsReadStrictly) {
  EXPECT_EQ(errorOf({{"heddle.json", manifest("[]", "[]")}, {"weights.bin", ""}}), "no error");
  EXPECT_EQ(errorOf({{"other", "x"}}),
            "m.heddle: expected a Heddle file, found an archive without heddle.json");
  EXPECT_THAT(errorOf({{"heddle.json", version(1) + R"(,"new":1})"}}),
              AllOf(HasSubstr("m.heddle: heddle.json: expected format version"),
                    EndsWith("made by a newer Heddle")));
  EXPECT_THAT(errorOf({{"heddle.json", version(-1) + R"(,"cpu":[]})"}}),
              EndsWith("made by an older Heddle: compile the model again"));
  EXPECT_THAT(errorOf({{"heddle.json", "{}"}}), HasSubstr("expected a format version"));
  EXPECT_THAT(errorOf({{"heddle.json", "[1"}}),
              HasSubstr("m.heddle: heddle.json:1:3: expected valid JSON"));
  EXPECT_EQ(errorOf({{"heddle.json", version() + "}"}}),
            "m.heddle: heddle.json: expected a field 'cpu', found none");
  EXPECT_EQ(errorOf({{"heddle.json", manifest("[1]", "[]")}}),
            "m.heddle: heddle.json: cpu[0]: expected an object, found 1");
  EXPECT_EQ(errorOf({{"heddle.json", manifest("[]", "{}")}}),
            "m.heddle: heddle.json: texts: expected an array, found {}");
}

TEST(Artifact, MembersAndManifestAgree) {
  EXPECT_EQ(errorOf({{"heddle.json", manifest("[]", "[]")}}),
            "m.heddle: expected a member weights.bin, found none");
  EXPECT_EQ(errorOf({{"heddle.json", manifest(R"([{"isa":"v3","features":[]}])", "[]")},
                     {"weights.bin", ""}}),
            "m.heddle: expected a member cpu/v3.so, found none");
  EXPECT_EQ(errorOf({{"heddle.json", manifest("[]", R"(["a.txt"])")}, {"weights.bin", ""}}),
            "m.heddle: expected a member text/a.txt, found none");
  EXPECT_EQ(errorOf({{"heddle.json", manifest("[]", "[]")}, {"x", ""}, {"weights.bin", ""}}),
            "m.heddle: expected only members that the manifest names, found x");
  EXPECT_EQ(errorOf({{"heddle.json", manifest("[]", "[]")}, {"weights.bin", "1234"}}),
            "m.heddle: expected 0 bytes of weights, found 4");
}

TEST(Artifact, MembersMustBeAligned) {
  EXPECT_EQ(errorOf({{"heddle.json", manifest("[]", "[]")}, {"weights.bin", ""}}, 64),
            "m.heddle: expected weights.bin at a multiple of 4096, found one of 64");
  EXPECT_EQ(errorOf({{"heddle.json", manifest("[]", "[]")}, {"weights.bin", ""}}, 16),
            "m.heddle: expected heddle.json at a multiple of 64, found one of 16");
}

TEST(Artifact, WeightsAndTextsAreNotDeflated) {
  test::TemporaryFolder folder;
  for (std::string_view deflated : {"text/a.txt", "weights.bin"}) {
    ContainerWriter writer;
    const std::string json = manifest("[]", R"(["a.txt"])"), zeros(1 << 12, 0);
    for (auto [name, data] : {std::pair("heddle.json", &json), std::pair("text/a.txt", &zeros),
                              std::pair("weights.bin", &zeros)})
      if (name == deflated)
        writer.addDeflated(name, std::as_bytes(std::span(*data)));
      else
        writer.add(name, std::as_bytes(std::span(*data)), 4096);
    ASSERT_TRUE(writer.writeFile(folder / "m"));
    auto artifact = readArtifact(folder / "m");
    ASSERT_FALSE(artifact);
    EXPECT_THAT(artifact.error().message, EndsWith(": expected " + std::string(deflated) +
                                                   " stored as it is, found it deflated"));
  }
}

TEST(Artifact, DamageIsFoundWhereItIsUsedOrChecked) {
  test::TemporaryFolder folder;
  std::string path = folder / "damaged";
  ASSERT_TRUE(testWriter().writeFile(path, fillWeights));
  auto good = readArtifact(path);
  ASSERT_TRUE(good);
  auto offsetOf = [&](const char *name) {
    return std::ranges::find(good->members(), name, &ContainerMember::name)->offset;
  };
  const uint64_t code = offsetOf("cpu/x86-64-v3.so"), words = offsetOf("vulkan/l0/attend.spv"),
                 text = offsetOf("text/source.txt"), weights = offsetOf("weights.bin");
  auto flip = [&](uint64_t offset) {
    EXPECT_TRUE(testWriter().writeFile(path, fillWeights));
    std::FILE *file = std::fopen(path.c_str(), "r+b");
    std::fseek(file, static_cast<long>(offset), SEEK_SET);
    std::fputc(0xee, file);
    std::fclose(file);
    return readArtifact(path);
  };
  EXPECT_THAT(flip(text).error().message, HasSubstr("changed bytes in member text/source.txt"));
  auto loaded = flip(code);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(loaded->code(loaded->cpu()[0]).error().message,
              HasSubstr("changed bytes in member cpu/x86-64-v3.so"));
  EXPECT_FALSE(loaded->check());
  loaded = flip(words);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(loaded->vulkan("vulkan/l0/attend.spv").error().message,
              HasSubstr("changed bytes in member vulkan/l0/attend.spv"));
  EXPECT_FALSE(loaded->check());
  loaded = flip(weights + 100);
  ASSERT_TRUE(loaded);
  EXPECT_THAT(loaded->check().error().message, HasSubstr("changed bytes in member weights.bin"));
}

TEST(Artifact, BadProgramsAreNotWritten) {
  Program program = testProgram();
  program.functions[0].launches[0].kernel = "none";
  auto artifact = ArtifactWriter(program).build("m", fillWeights);
  ASSERT_FALSE(artifact);
  EXPECT_EQ(artifact.error().kind, ErrorKind::Device);
}

} // namespace
