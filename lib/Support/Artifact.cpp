//===- Artifact.cpp - Compiled models (.heddle files) ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and writing of artifacts. Members are checked against the manifest before any is used.
// Checksums of code and of the fused stage are checked when these are read, the weights' only on
// demand.

#include "heddle/Support/Artifact.h"

#include "ProgramJson.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <set>

namespace heddle {

namespace {

constexpr const char *manifestName = "heddle.json";
constexpr const char *fusedName = "fused.mlirbc";
constexpr const char *weightsName = "weights.bin";
constexpr uint32_t pageSize = 4096;

std::string cpuName(const std::string &isa) { return "cpu/" + isa + ".so"; }
std::string textName(std::string_view name) { return "text/" + std::string(name); }

std::span<const std::byte> asBytes(const auto &list) {
  return std::as_bytes(std::span(list.data(), list.size()));
}

std::string_view asText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// Names of the SPIR-V members of a program's kernels. Several kernels may share a member.
std::set<std::string> vulkanMembers(const Program &program) {
  std::set<std::string> names;
  for (const Kernel &kernel : program.kernels)
    for (const VulkanVariant &variant : kernel.vulkan) {
      names.insert(variant.member);
      if (variant.rounding)
        names.insert(variant.rounding->member);
    }
  return names;
}

} // namespace

//===- Reading -----------------------------------------------------------===//

Expected<Artifact> readArtifact(const std::string &path) {
  auto bytes = HEDDLE_TRY(MappedBytes::openFile(path));
  return Artifact::fromBytes(std::move(bytes), path);
}

Expected<Artifact> Artifact::fromBytes(MappedBytes bytes, std::string name) {
  auto container = HEDDLE_TRY(ContainerReader::read(bytes.bytes(), name));
  // Views of the container stay valid: moving the mapping does not move its bytes.
  Artifact artifact(std::move(bytes), std::move(container), std::move(name));
  for (auto step : {&Artifact::readManifest, &Artifact::findMembers})
    HEDDLE_TRY((artifact.*step)());
  return artifact;
}

Status Artifact::readManifest() {
  const ContainerMember *found = container.find(manifestName);
  if (!found)
    return inputError(artifactName + ": expected a Heddle file, found an archive without " +
                      manifestName);
  auto json = HEDDLE_TRY(container.read(*found));
  manifest = HEDDLE_TRY(manifestFromJson(asText(json), artifactName + ": " + manifestName));
  return {};
}

/// Finds the members that the manifest names; rejects missing and unknown ones.
Status Artifact::findMembers() {
  std::set<std::string> needed = vulkanMembers(program());
  needed.insert({manifestName, weightsName});
  for (const CpuMember &cpu : manifest.cpu)
    needed.insert(cpuName(cpu.isa));
  for (const std::string &name : manifest.texts)
    needed.insert(textName(name));
  for (const std::string &name : needed)
    if (!container.find(name))
      return inputError(artifactName + ": expected a member " + name + ", found none");
  // Unknown members are errors: an archive must not carry hidden data.
  for (const ContainerMember &member : container.members())
    if (!needed.count(member.name) && member.name != fusedName)
      return inputError(artifactName + ": expected only members that the manifest names, found " +
                        member.name);
  HEDDLE_TRY(checkForms());
  if (static_cast<int64_t>(weights().size()) != program().weightBytes)
    return inputError(artifactName + ": expected " + std::to_string(program().weightBytes) +
                      " bytes of weights, found " + std::to_string(weights().size()));
  for (const std::string &name : vulkanMembers(program()))
    if (uint64_t size = container.find(name)->size; size == 0 || size % 4 != 0)
      return inputError(artifactName + ": expected whole words in " + name + ", found " +
                        std::to_string(size) + " bytes");
  for (const std::string &name : manifest.texts) {
    HEDDLE_TRY(container.checkMember(*container.find(textName(name))));
    textMembers.push_back({name, asText(data(textName(name)))});
  }
  return {};
}

/// Checks alignments, and that weights and texts are not deflated, since they are used in the
/// mapping without a copy.
Status Artifact::checkForms() const {
  for (const ContainerMember &member : container.members()) {
    const bool isWeights = member.name == weightsName;
    if (member.isDeflated && (isWeights || member.name.starts_with(textName(""))))
      return inputError(artifactName + ": expected " + member.name +
                        " stored as it is, found it deflated");
    uint32_t least = isWeights ? pageSize : 64;
    if (member.alignment < least)
      return inputError(artifactName + ": expected " + member.name + " at a multiple of " +
                        std::to_string(least) + ", found one of " +
                        std::to_string(member.alignment));
  }
  return {};
}

std::span<const std::byte> Artifact::data(std::string_view member) const {
  const ContainerMember *found = container.find(member);
  return found ? container.data(*found) : std::span<const std::byte>();
}

Expected<std::vector<std::byte>> Artifact::copyOf(std::string_view member) const {
  const ContainerMember *found = container.find(member);
  return found ? container.read(*found) : std::vector<std::byte>();
}

Expected<std::vector<std::byte>> Artifact::code(const CpuMember &member) const {
  return copyOf(cpuName(member.isa));
}
Expected<std::vector<std::byte>> Artifact::vulkan(std::string_view member) const {
  return copyOf(member);
}
Expected<std::vector<std::byte>> Artifact::fused() const { return copyOf(fusedName); }
std::span<const std::byte> Artifact::weights() const { return data(weightsName); }

bool Artifact::hasVulkan() const {
  return std::ranges::any_of(program().kernels, [](const Kernel &k) { return !k.vulkan.empty(); });
}

std::optional<std::string_view> Artifact::text(std::string_view name) const {
  auto found = std::ranges::find(textMembers, name, &TextMember::name);
  return found == textMembers.end() ? std::nullopt : std::optional(found->text);
}

//===- Writing -----------------------------------------------------------===//

void ArtifactWriter::addCpu(std::string isa, std::vector<std::string> features,
                            std::vector<char> object) {
  manifest.cpu.push_back({std::move(isa), std::move(features)});
  objects.push_back(std::move(object));
}

void ArtifactWriter::addVulkan(std::string member, std::vector<uint32_t> words) {
  vulkan.emplace_back(std::move(member), std::move(words));
}

void ArtifactWriter::addText(std::string name, std::string text) {
  manifest.texts.push_back(std::move(name));
  texts.push_back(std::move(text));
}

std::string ArtifactWriter::vulkanMember(std::string_view kernel, std::string_view level) {
  return "vulkan/l" + std::string(level) + "/" + std::string(kernel) + ".spv";
}

/// Adds the members in a fixed order, so that equal models give equal bytes.
ContainerWriter ArtifactWriter::collect(const std::string &json,
                                        const FillWeights &fillWeights) const {
  ContainerWriter container;
  container.addDeflated(manifestName, asBytes(json));
  if (!fused.empty())
    container.addDeflated(fusedName, asBytes(fused));
  for (size_t i = 0; i < objects.size(); ++i)
    container.addDeflated(cpuName(manifest.cpu[i].isa), asBytes(objects[i]));
  for (const auto &[member, words] : vulkan)
    container.addDeflated(member, asBytes(words));
  for (size_t i = 0; i < texts.size(); ++i)
    container.add(textName(manifest.texts[i]), asBytes(texts[i]));
  container.add(weightsName, static_cast<uint64_t>(manifest.program.weightBytes), fillWeights,
                pageSize);
  return container;
}

Status ArtifactWriter::writeFile(const std::string &path, const FillWeights &fillWeights) {
  if (Status valid = validate(manifest.program); !valid)
    return deviceError("the compiler made an invalid program: " + valid.error().message);
  std::string json = toJson(manifest);
  return collect(json, fillWeights).writeFile(path);
}

Expected<Artifact> ArtifactWriter::build(const std::string &name, const FillWeights &fillWeights) {
  if (Status valid = validate(manifest.program); !valid)
    return deviceError("the compiler made an invalid program: " + valid.error().message);
  // Writes the JSON text and reads it back, so that files and memory are loaded alike.
  std::string json = toJson(manifest);
  auto bytes = HEDDLE_TRY(collect(json, fillWeights).writeMemory());
  return Artifact::fromBytes(std::move(bytes), name);
}

} // namespace heddle
