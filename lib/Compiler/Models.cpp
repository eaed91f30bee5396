//===- Models.cpp - Models opened for reports -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens models. A compiled file contains its fused stage; any other model is imported.

#include "heddle/Compiler/Models.h"

#include "Compilation.h"
#include "heddle/Compiler/RegisterAll.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Support/Try.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace heddle {

/// Members of an opened model. Contexts are declared before the module, which is destroyed first.
struct OpenedModel::Parts {
  std::unique_ptr<Compilation> compilation; ///< for a model
  std::optional<Artifact> artifact;         ///< for a compiled file
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  Program program;
};

OpenedModel::OpenedModel(std::unique_ptr<Parts> parts) : parts(std::move(parts)) {}
OpenedModel::OpenedModel(OpenedModel &&) noexcept = default;
OpenedModel::~OpenedModel() = default;

ModuleOp OpenedModel::module() const {
  return parts->module ? *parts->module : parts->compilation->module();
}
const Program &OpenedModel::program() const {
  return parts->artifact ? parts->artifact->program() : parts->program;
}
const Artifact *OpenedModel::artifact() const {
  return parts->artifact ? &*parts->artifact : nullptr;
}

const WeightSource *OpenedModel::weights() const {
  return artifact() ? nullptr : parts->compilation->model().weights.get();
}

/// Collects the parser's diagnostics, so that a damaged file is one error.
Expected<OpenedModel> OpenedModel::read(const std::string &model, const CompileOptions &options) {
  auto parts = std::make_unique<Parts>();
  if (!isArtifactPath(model)) {
    CompileOptions withoutWeights = options;
    withoutWeights.needsWeights = false;
    withoutWeights.dtype = HEDDLE_TRY(chooseFormat(model, options.dtype));
    parts->compilation = HEDDLE_TRY(Compilation::load(model, withoutWeights));
    if (options.warning)
      for (const std::string &warning : parts->compilation->warnings())
        options.warning(warning);
    return OpenedModel(std::move(parts));
  }
  HEDDLE_TRY(checkCompiled(model, options));
  parts->artifact = HEDDLE_TRY(readArtifact(model));
  DialectRegistry registry;
  registerAllDialects(registry);
  parts->context = std::make_unique<MLIRContext>(registry);
  limitThreads(*parts->context);
  DiagnosticCollector diagnostics(*parts->context, model);
  auto bytes = HEDDLE_TRY(parts->artifact->fused());
  parts->module = parseSourceString<ModuleOp>(
      StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()),
      ParserConfig(parts->context.get()));
  if (!parts->module)
    return diagnostics.error(
        inputError(model + ": expected the fused stage as bytecode, found other contents"));
  return OpenedModel(std::move(parts));
}

Expected<OpenedModel> OpenedModel::plan(const std::string &model, const CompileOptions &options) {
  Expected<OpenedModel> opened = read(model, options);
  if (!opened || opened->artifact())
    return opened;
  Compilation &compilation = *opened->parts->compilation;
  HEDDLE_TRY(compilation.advance(Stage::Fused));
  opened->parts->program = HEDDLE_TRY(compilation.program());
  return opened;
}

std::vector<TensorInfo> OpenedModel::tensors() const {
  if (!artifact())
    return parts->compilation->model().tensors;
  std::vector<TensorInfo> tensors;
  for (const PackEntry &entry : program().pack)
    if (entry.layout != PackEntry::Layout::Scales) // scales are computed from the tensor of another
                                                   // entry
      tensors.push_back({entry.tensor, "f32", entry.shape});
  return tensors;
}

} // namespace heddle
