//===- Artifact.cpp - The layout of a .heddle file -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest is an object of four fields: `heddle`, the format's version,
// which is looked at first; `cpu`, the instruction sets with the features they
// need; `texts`, the names of text files; `program`. All members follow from it,
// and one that it does not name is an error.

#include "heddle/Support/Artifact.h"

#include "ProgramJson.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <set>

namespace heddle {

namespace {

using Json = nlohmann::ordered_json;

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

/// A non-empty array of strings; nothing where it is something else.
std::optional<std::vector<std::string>> strings(const Json &json) {
  if (!json.is_array())
    return std::nullopt;
  std::vector<std::string> list;
  for (const Json &element : json) {
    if (!element.is_string())
      return std::nullopt;
    list.push_back(element.get<std::string>());
  }
  return list;
}

/// The fields of the manifest besides the program. Each function trusts only what the ones before
/// it have checked; `checkVersion` comes first, `checkFields` second.
class ManifestReader {
public:
  ManifestReader(const Json &json, std::string place) : json(json), place(std::move(place)) {}

  /// First of all: a newer file may differ in everything else.
  Status checkVersion() const {
    if (!json.is_object() || !json.contains("heddle") || !json["heddle"].is_number_integer())
      return inputError(place + ": expected a format version in field 'heddle', found none");
    if (json["heddle"] == artifactFormat)
      return {};
    return inputError(place + ": expected format version " + std::to_string(artifactFormat) +
                      ", found " + json["heddle"].dump() +
                      (json["heddle"] > artifactFormat
                           ? ", made by a newer Heddle"
                           : ", made by an older Heddle: compile the model again"));
  }

  Status checkFields() const {
    for (const char *field : {"cpu", "texts", "program"})
      if (!json.contains(field))
        return inputError(place + ": expected a field '" + std::string(field) + "', found none");
    if (json.size() != 4)
      return inputError(place + ": expected 4 fields, found " + std::to_string(json.size()));
    return {};
  }

  Expected<std::vector<CpuMember>> cpu() const {
    Error wrong =
        inputError(place + ".cpu: expected an array of {isa, features}, found another form");
    if (!json["cpu"].is_array())
      return wrong;
    std::vector<CpuMember> list;
    for (const Json &entry : json["cpu"]) {
      bool known = entry.is_object() && entry.size() == 2 && entry.contains("isa") &&
                   entry["isa"].is_string() && entry.contains("features");
      auto features = known ? strings(entry["features"]) : std::nullopt;
      if (!features)
        return wrong;
      list.push_back({entry["isa"].get<std::string>(), std::move(*features), {}});
    }
    return list;
  }

  Expected<std::vector<TextMember>> texts() const {
    auto names = strings(json["texts"]);
    if (!names)
      return inputError(place + ".texts: expected an array of names, found another form");
    std::vector<TextMember> list;
    for (std::string &name : *names)
      list.push_back({std::move(name), {}});
    return list;
  }

private:
  const Json &json;
  std::string place;
};

/// Names of all members that a program's kernels need. Several kernels may share one.
std::set<std::string> vulkanMembers(const Program &program) {
  std::set<std::string> names;
  for (const Kernel &kernel : program.kernels)
    for (const VulkanVariant &variant : kernel.vulkan)
      names.insert(variant.member);
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
  // Moving the mapping moves no byte: the container's views stay good.
  Artifact artifact(std::move(bytes), std::move(container), std::move(name));
  for (auto step : {&Artifact::readManifest, &Artifact::findMembers})
    HEDDLE_TRY((artifact.*step)());
  return artifact;
}

Status Artifact::readManifest() {
  const ContainerMember *manifest = container.find(manifestName);
  if (!manifest)
    return inputError(artifactName + ": expected a Heddle file, found an archive without " +
                      manifestName);
  // Code and manifest are checked before use; weights only when asked for, they may be gigabytes.
  for (const ContainerMember &member : container.members())
    if (member.name != weightsName)
      HEDDLE_TRY(container.checkMember(member));
  std::string place = artifactName + ": " + manifestName;
  auto json = HEDDLE_TRY(parseJson(asText(container.data(*manifest)), place));
  ManifestReader reader(json, place);
  for (auto check : {&ManifestReader::checkVersion, &ManifestReader::checkFields})
    HEDDLE_TRY((reader.*check)());
  auto cpu = HEDDLE_TRY(reader.cpu());
  auto texts = HEDDLE_TRY(reader.texts());
  auto program = HEDDLE_TRY(programFromValue(json["program"], place + ": program"));
  cpuMembers = std::move(cpu);
  textMembers = std::move(texts);
  contents = std::move(program);
  return {};
}

/// Connects what the manifest names with the members; both sides must be complete.
Status Artifact::findMembers() {
  std::set<std::string> needed = vulkanMembers(contents);
  needed.insert({manifestName, weightsName});
  for (const CpuMember &cpu : cpuMembers)
    needed.insert(cpuName(cpu.isa));
  for (const TextMember &text : textMembers)
    needed.insert(textName(text.name));
  for (const std::string &name : needed)
    if (!container.find(name))
      return inputError(artifactName + ": expected a member " + name + ", found none");
  // Nothing rides along unseen, not even behind good checksums.
  for (const ContainerMember &member : container.members())
    if (!needed.count(member.name) && member.name != fusedName)
      return inputError(artifactName + ": expected only members that the manifest names, found " +
                        member.name);
  HEDDLE_TRY(checkAlignment());
  if (static_cast<int64_t>(weights().size()) != contents.weightBytes)
    return inputError(artifactName + ": expected " + std::to_string(contents.weightBytes) +
                      " bytes of weights, found " + std::to_string(weights().size()));
  for (const std::string &name : vulkanMembers(contents))
    if (vulkan(name).empty() || vulkan(name).size() % 4 != 0)
      return inputError(artifactName + ": expected whole words in " + name + ", found " +
                        std::to_string(vulkan(name).size()) + " bytes");
  for (CpuMember &cpu : cpuMembers)
    cpu.code = data(cpuName(cpu.isa));
  for (TextMember &text : textMembers)
    text.text = asText(data(textName(text.name)));
  return {};
}

/// Code and weights are used where they are mapped.
Status Artifact::checkAlignment() const {
  for (const ContainerMember &member : container.members()) {
    uint32_t least = member.name == weightsName ? pageSize : 64;
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

std::span<const std::byte> Artifact::vulkan(std::string_view member) const { return data(member); }
std::span<const std::byte> Artifact::fused() const { return data(fusedName); }
std::span<const std::byte> Artifact::weights() const { return data(weightsName); }

bool Artifact::hasVulkan() const {
  return std::ranges::any_of(contents.kernels, [](const Kernel &k) { return !k.vulkan.empty(); });
}

std::optional<std::string_view> Artifact::text(std::string_view name) const {
  auto found = std::ranges::find(textMembers, name, &TextMember::name);
  return found == textMembers.end() ? std::nullopt : std::optional(found->text);
}

//===- Writing -----------------------------------------------------------===//

void ArtifactWriter::addCpu(std::string isa, std::vector<std::string> features,
                            std::vector<char> object) {
  cpu.push_back({std::move(isa), std::move(features), std::move(object)});
}

void ArtifactWriter::addVulkan(std::string member, std::vector<uint32_t> words) {
  vulkan.emplace_back(std::move(member), std::move(words));
}

void ArtifactWriter::addText(std::string name, std::string text) {
  texts.emplace_back(std::move(name), std::move(text));
}

std::string ArtifactWriter::vulkanMember(std::string_view kernel, int level) {
  return "vulkan/l" + std::to_string(level) + "/" + std::string(kernel) + ".spv";
}

std::string ArtifactWriter::manifest() const {
  Json json;
  json["heddle"] = artifactFormat;
  json["cpu"] = Json::array();
  for (const Cpu &entry : cpu)
    json["cpu"].push_back(Json{{"isa", entry.isa}, {"features", entry.features}});
  json["texts"] = Json::array();
  for (const auto &[name, text] : texts)
    json["texts"].push_back(name);
  json["program"] = programToValue(program);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The order of members is part of the format's stability: equal input, equal bytes.
ContainerWriter ArtifactWriter::collect(const std::string &manifest,
                                        const FillWeights &fillWeights) const {
  ContainerWriter container;
  container.add(manifestName, asBytes(manifest));
  if (!fused.empty())
    container.add(fusedName, asBytes(fused));
  for (const Cpu &entry : cpu)
    container.add(cpuName(entry.isa), asBytes(entry.object));
  for (const auto &[member, words] : vulkan)
    container.add(member, asBytes(words));
  for (const auto &[name, text] : texts)
    container.add(textName(name), asBytes(text));
  container.add(weightsName, static_cast<uint64_t>(program.weightBytes), fillWeights, pageSize);
  return container;
}

Status ArtifactWriter::writeFile(const std::string &path, const FillWeights &fillWeights) {
  if (Status valid = validate(program); !valid)
    return deviceError("the compiler made a bad program: " + valid.error().message);
  std::string text = manifest();
  return collect(text, fillWeights).writeFile(path);
}

Expected<Artifact> ArtifactWriter::build(const std::string &name, const FillWeights &fillWeights) {
  if (Status valid = validate(program); !valid)
    return deviceError("the compiler made a bad program: " + valid.error().message);
  // Read back as a file would be: there is one way to load a program, not two.
  std::string text = manifest();
  auto bytes = HEDDLE_TRY(collect(text, fillWeights).writeMemory());
  return Artifact::fromBytes(std::move(bytes), name);
}

} // namespace heddle
