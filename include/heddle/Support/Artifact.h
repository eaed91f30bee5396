//===- Artifact.h - The layout of a .heddle file ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is in a compiled model, as a file or in memory: the manifest
// `heddle.json` (format version and program), `fused.mlirbc`, `cpu/<isa>.so`,
// `vulkan/l<level>/<kernel>.spv`, `text/<name>`, and `weights.bin` last, on a page
// boundary. The compiler writes it, the runtime reads it.
#pragma once

#include "heddle/Support/Container.h"
#include "heddle/Support/Program.h"

namespace heddle {

/// Raised whenever a reader would misunderstand a file of another version, or the program in it
/// gains or loses a field: a file is for the version that wrote it.
inline constexpr int artifactFormat = 9;

/// CPU code for one instruction set: an ELF shared object that imports nothing.
struct CpuMember {
  std::string isa;                   ///< "x86-64-v3"
  std::vector<std::string> features; ///< all must be there: "avx2", "fma", … as LLVM spells them
  std::span<const std::byte> code;   ///< 64-byte aligned; a member of its own
  HEDDLE_FIELDS(2, isa, features)
};

/// What `heddle.json` says. All other members follow from it, and one that it does not name is an
/// error.
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

/// A compiled model. Owns its bytes; all spans live as long as it does (moving it keeps them).
class Artifact {
public:
  /// Reads and checks everything but the checksum of the weights. `name` is how errors call it.
  static Expected<Artifact> fromBytes(MappedBytes bytes, std::string name);

  const std::string &name() const { return artifactName; }
  const Program &program() const { return manifest.program; }
  const std::vector<CpuMember> &cpu() const { return manifest.cpu; }
  /// SPIR-V of a member named by VulkanVariant::member; 64-byte aligned. Empty: there is none.
  std::span<const std::byte> vulkan(std::string_view member) const;
  bool hasVulkan() const;
  /// The `fused` stage as MLIR bytecode; empty: there is none.
  std::span<const std::byte> fused() const;
  const std::vector<TextMember> &texts() const { return textMembers; }
  std::optional<std::string_view> text(std::string_view name) const;
  /// Program::weightBytes bytes on a page boundary; MappedBytes::slack bytes past their end can be
  /// read.
  std::span<const std::byte> weights() const;
  /// The members in order, to be listed.
  const std::vector<ContainerMember> &members() const { return container.members(); }
  /// Compares all checksums: no single changed byte passes.
  Status check() const { return container.check(); }

private:
  Artifact(MappedBytes bytes, ContainerReader container, std::string name)
      : bytes(std::move(bytes)), container(std::move(container)), artifactName(std::move(name)) {}
  Status readManifest();
  Status findMembers();
  Status checkAlignment() const;
  std::span<const std::byte> data(std::string_view member) const;

  MappedBytes bytes;
  ContainerReader container;
  std::string artifactName;
  Manifest manifest;
  std::vector<TextMember> textMembers;
};

/// Maps and reads a file.
Expected<Artifact> readArtifact(const std::string &path);

/// Puts an artifact together: everything else first, then the weights straight into their place.
class ArtifactWriter {
public:
  /// Fills Program::weightBytes zeroed bytes on a page boundary.
  using FillWeights = ContainerWriter::Fill;

  explicit ArtifactWriter(Program program) { manifest.program = std::move(program); }

  void addCpu(std::string isa, std::vector<std::string> features, std::vector<char> object);
  /// `member` is VulkanVariant::member, vulkanMember(kernel, level).
  void addVulkan(std::string member, std::vector<uint32_t> words);
  void setFused(std::string bytecode) { fused = std::move(bytecode); }
  /// `name` is printable ASCII; the member is `text/<name>`.
  void addText(std::string name, std::string text);

  static std::string vulkanMember(std::string_view kernel, int level = 0);

  Status writeFile(const std::string &path, const FillWeights &fillWeights);
  /// The same bytes in memory, for the JIT: weights are written once, where the runtime reads them.
  Expected<Artifact> build(const std::string &name, const FillWeights &fillWeights);

private:
  /// The members, which borrow from this writer and from `json`.
  ContainerWriter collect(const std::string &json, const FillWeights &fillWeights) const;
  Manifest manifest;
  std::vector<std::vector<char>> objects; ///< one an instruction set
  std::vector<std::pair<std::string, std::vector<uint32_t>>> vulkan;
  std::vector<std::string> texts; ///< one a name
  std::string fused;
};

} // namespace heddle
