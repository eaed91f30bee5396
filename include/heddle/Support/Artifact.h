//===- Artifact.h - Compiled models (.heddle files) ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiled model, as a file or in memory, consists of members: the manifest
// `heddle.json` (format version and program), `fused.mlirbc`, `cpu/<isa>.so`,
// `vulkan/l<level>/<kernel>.spv`, `text/<name>`, and `weights.bin` last, on a page
// boundary. Files hold program and code deflated. The compiler writes it, the runtime
// reads it.
#pragma once

#include "heddle/Support/Container.h"
#include "heddle/Support/Program.h"

namespace heddle {

/// Format version, raised whenever the layout changes or Program gains or loses a field. A reader
/// accepts its own version only.
inline constexpr int artifactFormat = 15;

/// CPU code for one instruction set: an ELF shared object that imports nothing.
struct CpuMember {
  std::string isa;                   ///< "x86-64-v3"; the code is the member `cpu/<isa>.so`
  std::vector<std::string> features; ///< required: "avx2", "avx512_bf16", … as Linux spells them
  HEDDLE_FIELDS(2, isa, features)
};

/// Contents of `heddle.json`. It names all other members but `fused.mlirbc`; a member that it does
/// not name is an error.
struct Manifest {
  int64_t heddle = artifactFormat;
  std::vector<CpuMember> cpu;
  std::vector<std::string> texts; ///< names
  Program program;
  HEDDLE_FIELDS(0, heddle, cpu, texts, program)
};

/// A text file that came with the model.
struct TextMember {
  std::string name; ///< "source.txt"
  std::string_view text;
};

/// A compiled model, which owns its bytes. All spans live as long as it does; moving it keeps them.
class Artifact {
public:
  /// Reads and checks everything but the checksums of code and of the fused stage, which are compared
  /// when they are taken, and of the weights (see check). Errors begin with `name`.
  static Expected<Artifact> fromBytes(MappedBytes bytes, std::string name);

  const std::string &name() const { return artifactName; }
  const Program &program() const { return manifest.program; }
  const std::vector<CpuMember> &cpu() const { return manifest.cpu; }
  Expected<std::vector<std::byte>> code(const CpuMember &member) const;
  /// SPIR-V of a member named by VulkanVariant::member, in words. Empty if there is none.
  Expected<std::vector<std::byte>> vulkan(std::string_view member) const;
  bool hasVulkan() const;
  /// The `fused` stage as MLIR bytecode; empty if there is none.
  Expected<std::vector<std::byte>> fused() const;
  const std::vector<TextMember> &texts() const { return textMembers; }
  /// Text member of this name; none if there is none.
  std::optional<std::string_view> text(std::string_view name) const;
  /// Program::weightBytes bytes on a page boundary; MappedBytes::slack bytes past their end can be
  /// read.
  std::span<const std::byte> weights() const;
  const std::vector<ContainerMember> &members() const { return container.members(); }
  /// Compares the checksums of all members, the weights included.
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

/// Maps a file and reads it, see Artifact::fromBytes.
Expected<Artifact> readArtifact(const std::string &path);

/// Assembles an artifact. Weights come last and are written straight to their place in the file or
/// in memory, never copied.
class ArtifactWriter {
public:
  /// Fills Program::weightBytes zeroed bytes on a page boundary.
  using FillWeights = ContainerWriter::Fill;

  explicit ArtifactWriter(Program program) { manifest.program = std::move(program); }

  /// `object` is an ELF shared object that needs `features`; `isa` names its member.
  void addCpu(std::string isa, std::vector<std::string> features, std::vector<char> object);
  /// `member` is VulkanVariant::member, vulkanMember(kernel, VulkanLevel::name()).
  void addVulkan(std::string member, std::vector<uint32_t> words);
  void setFused(std::string bytecode) { fused = std::move(bytecode); }
  /// `name` is printable ASCII; the member is `text/<name>`.
  void addText(std::string name, std::string text);

  static std::string vulkanMember(std::string_view kernel, std::string_view level = "0");

  /// Writes the file atomically, after a validation of the program.
  Status writeFile(const std::string &path, const FillWeights &fillWeights);
  /// Builds the artifact in memory, for the JIT compiler, with the members that a file would have.
  Expected<Artifact> build(const std::string &name, const FillWeights &fillWeights);

private:
  /// Members, whose bytes are borrowed from this writer and from `json`.
  ContainerWriter collect(const std::string &json, const FillWeights &fillWeights) const;
  Manifest manifest;
  std::vector<std::vector<char>> objects; ///< parallel to manifest.cpu
  std::vector<std::pair<std::string, std::vector<uint32_t>>> vulkan;
  std::vector<std::string> texts; ///< parallel to manifest.texts
  std::string fused;
};

} // namespace heddle
