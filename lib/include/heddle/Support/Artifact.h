//===- Artifact.h - Compiled models (.heddle files) ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiled model, in a file or in memory. The compiler writes it and the runtime reads it. Its
// members are the manifest `heddle.json` (format version and program), `fused.mlirbc`,
// `cpu/<isa>.so`, `vulkan/l<level>/<kernel>.spv`, `text/<name>`, and last `weights.bin`, on a page
// boundary. In files, program and code are deflated.
#pragma once

#include "heddle/Support/Container.h"
#include "heddle/Support/Program.h"

namespace heddle {

/// Format version, raised whenever the layout changes or Program gains or loses a field. A reader
/// accepts only its own version.
inline constexpr int artifactFormat = 17;

/// CPU code for one instruction set: an ELF shared object that imports nothing.
struct CpuMember {
  std::string isa;                   ///< "x86-64-v3"; the code is the member `cpu/<isa>.so`
  std::vector<std::string> features; ///< required: "avx2", "avx512_bf16", … by Linux's names
  HEDDLE_FIELDS(2, isa, features)
};

/// Contents of `heddle.json`. It names all other members except `fused.mlirbc`; any other member is
/// an error.
struct Manifest {
  int64_t heddle = artifactFormat;
  std::vector<CpuMember> cpu;
  std::vector<std::string> texts; ///< names
  Program program;
  HEDDLE_FIELDS(0, heddle, cpu, texts, program)
};

/// A text file that belongs to the model.
struct TextMember {
  std::string name; ///< "source.txt"
  std::string_view text;
};

/// A compiled model, which owns its bytes. All spans are valid as long as it lives; moving it keeps
/// them valid.
class Artifact {
public:
  /// Reads an artifact and checks everything except some checksums. The checksums of code and of
  /// the fused stage are compared when these are read, and the checksum of the weights only by
  /// `check`. Errors begin with `name`.
  static Expected<Artifact> fromBytes(MappedBytes bytes, std::string name);

  const std::string &name() const { return artifactName; }
  const Program &program() const { return manifest.program; }
  const std::vector<CpuMember> &cpu() const { return manifest.cpu; }
  Expected<std::vector<std::byte>> code(const CpuMember &member) const;
  /// SPIR-V words of a member named by VulkanVariant::member; empty if there is none.
  Expected<std::vector<std::byte>> vulkan(std::string_view member) const;
  bool hasVulkan() const;
  /// The `fused` stage as MLIR bytecode; empty if there is none.
  Expected<std::vector<std::byte>> fused() const;
  const std::vector<TextMember> &texts() const { return textMembers; }
  /// Text member with this name, if there is one.
  std::optional<std::string_view> text(std::string_view name) const;
  /// Weights: Program::weightBytes bytes on a page boundary. MappedBytes::slack bytes past their
  /// end are readable.
  std::span<const std::byte> weights() const;
  const std::vector<ContainerMember> &members() const { return container.members(); }
  /// Compares the checksums of all members, including the weights.
  Status check() const { return container.check(); }

private:
  Artifact(MappedBytes bytes, ContainerReader container, std::string name)
      : bytes(std::move(bytes)), container(std::move(container)), artifactName(std::move(name)) {}
  Status readManifest();
  Status findMembers();
  Status checkForms() const;
  std::span<const std::byte> data(std::string_view member) const;
  Expected<std::vector<std::byte>> copyOf(std::string_view member) const;

  MappedBytes bytes;
  ContainerReader container;
  std::string artifactName;
  Manifest manifest;
  std::vector<TextMember> textMembers;
};

/// Maps a file and reads it (see Artifact::fromBytes).
Expected<Artifact> readArtifact(const std::string &path);

/// Assembles an artifact. Weights are last and are written directly to their place in the file or
/// in memory, without a copy.
class ArtifactWriter {
public:
  /// Fills Program::weightBytes zeroed bytes on a page boundary.
  using FillWeights = ContainerWriter::Fill;

  explicit ArtifactWriter(Program program) { manifest.program = std::move(program); }

  /// Adds an ELF shared object that needs `features`; `isa` names its member.
  void addCpu(std::string isa, std::vector<std::string> features, std::vector<char> object);
  /// Adds SPIR-V. `member` is VulkanVariant::member, made by vulkanMember(kernel,
  /// VulkanLevel::name()).
  void addVulkan(std::string member, std::vector<uint32_t> words);
  void setFused(std::string bytecode) { fused = std::move(bytecode); }
  /// Adds a text as the member `text/<name>`; `name` is printable ASCII.
  void addText(std::string name, std::string text);

  static std::string vulkanMember(std::string_view kernel, std::string_view level = "0");

  /// Validates the program and writes the file atomically.
  Status writeFile(const std::string &path, const FillWeights &fillWeights);
  /// Builds the artifact in memory, for the JIT compiler, with the members of a file.
  Expected<Artifact> build(const std::string &name, const FillWeights &fillWeights);

private:
  /// All members. Their bytes are borrowed from this writer and from `json`.
  ContainerWriter collect(const std::string &json, const FillWeights &fillWeights) const;
  Manifest manifest;
  std::vector<std::vector<char>> objects; ///< parallel to manifest.cpu
  std::vector<std::pair<std::string, std::vector<uint32_t>>> vulkan;
  std::vector<std::string> texts; ///< parallel to manifest.texts
  std::string fused;
};

} // namespace heddle
