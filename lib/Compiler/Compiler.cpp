//===- Compiler.cpp - Interface of the compiler ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of a compilation: import ▶ fused (kept as bytecode) ▶ program ▶ code of each target ▶
// artifact. Weights are packed last; all other steps use only their names and shapes.

#include "heddle/Compiler/Compiler.h"

#include "CodeGeneration.h"
#include "heddle/Compiler/RegisterAll.h"
#include "heddle/Pack/NanWatch.h"
#include "heddle/Pack/Pack.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Support/Container.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Parser/Parser.h"

#include <chrono>
#include <filesystem>

using namespace mlir;

namespace heddle {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void tell(const CompileOptions &options, const std::string &phase) {
  if (options.progress)
    options.progress(phase);
}

/// A compilation with all members of its artifact except the weights.
struct Assembled {
  std::unique_ptr<Compilation> compilation;
  std::optional<ArtifactWriter> writer;
  Program program; ///< a copy of the writer's, for packing
  CompileReport report;
};

void addMembers(Assembled &result, GeneratedCode code, std::string fused) {
  result.writer.emplace(result.program);
  result.writer->setFused(std::move(fused));
  for (GeneratedCode::Cpu &cpu : code.cpu)
    result.writer->addCpu(std::move(cpu.isa), std::move(cpu.features), std::move(cpu.object));
  for (GeneratedCode::Shader &shader : code.shaders)
    result.writer->addVulkan(std::move(shader.member), std::move(shader.words));
  for (const auto &[name, text] : result.compilation->model().texts)
    result.writer->addText(name, text);
}

Expected<Assembled> assemble(const std::string &model, const CompileOptions &options) {
  auto start = Clock::now();
  Assembled result;
  tell(options, "reading " + model);
  result.compilation = HEDDLE_TRY(Compilation::load(model, options));
  tell(options, "fusing");
  HEDDLE_TRY(result.compilation->advance(Stage::Fused));
  auto fused = HEDDLE_TRY(moduleBytecode(result.compilation->module()));
  auto code = HEDDLE_TRY(generateCode(*result.compilation, options));
  result.program = std::move(code.program);
  result.report.pieces = code.pieces;
  result.report.cachedPieces = code.cachedPieces;
  addMembers(result, std::move(code), std::move(fused));
  result.report.warnings = result.compilation->warnings();
  result.report.remarks = result.compilation->remarks();
  result.report.kernels = static_cast<int>(result.program.kernels.size());
  result.report.weightBytes = result.program.weightBytes;
  result.report.codeSeconds = secondsSince(start);
  return result;
}

/// Callback that packs the weights into the artifact and measures the time.
ArtifactWriter::FillWeights packer(Assembled &assembled, const CompileOptions &options) {
  return [&](std::span<std::byte> bytes) {
    tell(options, "packing weights");
    auto start = Clock::now();
    const NanWatch weights(*assembled.compilation->model().weights);
    Status status = packAll(assembled.program, weights, bytes);
    if (std::vector<std::string> names = weights.found(); !names.empty())
      assembled.report.warnings.push_back(
          weights.name() + ": expected numbers, found NaN in " +
          firstText(names, 5, [](const std::string &name) { return quotedText(name); }));
    assembled.report.packSeconds = secondsSince(start);
    return status;
  };
}

} // namespace

bool isArtifactPath(const std::string &path) {
  return std::filesystem::path(path).extension() == ".heddle";
}

Status checkCompiled(const std::string &path, const CompileOptions &options) {
  for (const std::string &output : options.outputs)
    HEDDLE_TRY(checkNotAnInput(output, {path}));
  if (const auto given = givenChoices(options); !given.empty())
    return usageError(given.front().first +
                      ": expected a model to compile, found the compiled file " + path);
  return {};
}

Expected<CompileReport> compileModel(const std::string &model, const std::string &output,
                                     const CompileOptions &options) {
  return withinMemory([&]() -> Expected<CompileReport> {
    if (!isArtifactPath(model))
      HEDDLE_TRY(AtomicFile::create(output)); // checks the path before the long work
    CompileOptions chosen = options;
    chosen.outputs.push_back(output);
    chosen.dtype = HEDDLE_TRY(chooseFormat(model, options.dtype));
    auto assembled = HEDDLE_TRY(assemble(model, chosen));
    HEDDLE_TRY(assembled.writer->writeFile(output, packer(assembled, options)));
    std::error_code ignored;
    auto bytes = std::filesystem::file_size(output, ignored);
    assembled.report.artifactBytes = ignored ? 0 : static_cast<int64_t>(bytes);
    return std::move(assembled.report);
  });
}

Expected<Artifact> compileToMemory(const std::string &model, const CompileOptions &options,
                                   CompileReport *report) {
  return withinMemory([&]() -> Expected<Artifact> {
    CompileOptions chosen = options;
    chosen.dtype = HEDDLE_TRY(chooseFormat(model, options.dtype));
    auto assembled = HEDDLE_TRY(assemble(model, chosen));
    auto artifact = assembled.writer->build(model, packer(assembled, options));
    if (report)
      *report = std::move(assembled.report);
    return artifact;
  });
}

std::string descriptionSchema() { return modelDescriptionSchema(); }

} // namespace heddle
