//===- Compilation.cpp - Lowering of a model through the stages -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Import of a model and runs of the pipelines. All dialects are loaded at the start, so that
// modules of one context may be lowered in parallel.

#include "Compilation.h"

#include "heddle/Analysis/ModelParts.h"
#include "heddle/Compiler/Models.h"
#include "heddle/Compiler/RegisterAll.h"
#include "heddle/Compiler/TiledHook.h"
#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/IR/KeptCodes.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Gguf.h"
#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Try.h"
#include "heddle/Transforms/ProgramBuilder.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;

namespace heddle {

Compilation::Compilation(const DialectRegistry &registry, const std::string &model)
    : context(registry), diagnostics(context, model) {
  limitThreads(context);
  context.loadAllAvailableDialects();
}

/// Suggestion for the name of a type in other libraries: ", did you mean f16?"; empty if no library
/// uses the name.
static std::string peersType(const std::string &name) {
  for (auto [theirs, ours] : {std::pair{"fp16", "f16"},
                              {"float16", "f16"},
                              {"half", "f16"},
                              {"fp32", "f32"},
                              {"float32", "f32"},
                              {"float", "f32"},
                              {"bfloat16", "bf16"},
                              {"q8", "int8"},
                              {"q8_0", "int8"},
                              {"i8", "int8"},
                              {"q4", "int4"},
                              {"q4_0", "int4"},
                              {"q4_1", "int4"},
                              {"i4", "int4"}})
    if (name == theirs)
      return std::string(", did you mean ") + ours + "?";
  return "";
}

static Status checkTypes(const CompileOptions &options) {
  if (!findFormat(options.dtype))
    return usageError("--dtype: expected " + formatNames() + ", found " +
                      quotedText(options.dtype) + peersType(options.dtype));
  if (!options.cacheDtype.empty() && !findKeptType(options.cacheDtype))
    return usageError("--cache-dtype: expected " + keptTypeNames() + ", found " +
                      quotedText(options.cacheDtype));
  if (options.training && options.dtype != "f32")
    return usageError("--training: expected --dtype=f32 with it, found " +
                      quotedText(options.dtype));
  return {};
}

Expected<std::unique_ptr<Compilation>> Compilation::load(const std::string &model,
                                                         const CompileOptions &options) {
  HEDDLE_TRY(checkTypes(options));
  if (findFormat(options.dtype)->keepsCodes && !storesCodes(HEDDLE_TRY(modelPath(model))))
    return usageError("--dtype: expected a GGUF file, or a folder of MXFP4 matrices, whose codes "
                      "'file' keeps, found " +
                      model);
  if (isArtifactPath(model))
    return inputError(model + ": expected a model to compile, found a compiled file");
  DialectRegistry registry;
  registerAllDialects(registry);
  std::unique_ptr<Compilation> compilation(new Compilation(registry, model));
  compilation->onTiled = options.onTiled;
  ImportOptions importOptions = options;
  // A checkpoint named by --weights is always opened, so that a wrong name is an error.
  const bool keepsCodes = findFormat(options.dtype)->keepsCodes;
  importOptions.needsWeights = options.needsWeights || !options.weights.empty() || keepsCodes;
  Expected<ImportedModel> imported = importModel(model, importOptions, compilation->context);
  if (!imported)
    return compilation->diagnostics.error(imported.takeError());
  compilation->imported = std::move(*imported);
  if (keepsCodes)
    compilation->markCodes();
  for (const std::string &output : options.outputs)
    HEDDLE_TRY(checkNotAnInput(output, compilation->imported.files));
  StageOptions stage;
  stage.dtype = options.dtype;
  stage.cacheDtype = options.cacheDtype;
  stage.training = options.training;
  if (succeeded(runTo(compilation->module(), Stage::Transformer, Stage::Transformer, stage)))
    return compilation;
  if (options.error)
    for (const std::string &error : compilation->diagnostics.errors())
      options.error(error);
  return compilation->failedAt(Stage::Transformer);
}

void Compilation::markCodes() {
  const WeightSource &source = *imported.weights;
  module().walk([&](transformer::WeightOp weight) {
    const int tensor = source.find(weight.getName());
    if (const std::optional<DType> type = tensor < 0 ? std::nullopt : source.codeType(tensor))
      weight->setAttr(transformer::keptCodes, TypeAttr::get(mlirTypeOf(*type, &context)));
  });
}

Error Compilation::failedAt(Stage stage) const {
  return explained(
      deviceError(std::string("the stage ") + toString(stage) + " failed and gave no reason"));
}

Status Compilation::advance(Stage to) {
  if (current >= to)
    return {};
  if (failed(runTo(module(), current, to)))
    return failedAt(to);
  current = to;
  return {};
}

Expected<OwningOpRef<ModuleOp>> Compilation::lowered(ModuleOp from, Stage stage, Stage to,
                                                     const StageOptions &options) {
  OwningOpRef<ModuleOp> copy = from.clone();
  if (onTiled && stage < Stage::Tiled && to >= Stage::Tiled) {
    if (failed(runTo(*copy, stage, Stage::Tiled, options)))
      return failedAt(Stage::Tiled);
    onTiled->call(*copy);
    stage = Stage::Tiled;
  }
  if (failed(runTo(*copy, stage, to, options)))
    return failedAt(to);
  return copy;
}

Expected<OwningOpRef<ModuleOp>> Compilation::lowered(Stage to, const StageOptions &options) {
  return lowered(module(), current, to, options);
}

Expected<Program> Compilation::program(ArrayRef<TiledModule> tiled) {
  OwningOpRef<ModuleOp> outlined; // a copy: the module stays at its stage
  if (current < Stage::Program)
    outlined = HEDDLE_TRY(lowered(Stage::Program, {}));
  Expected<Program> program = buildProgram(outlined ? *outlined : module(), tiled);
  if (!program)
    return diagnostics.error(program.takeError());
  program->model = imported.facts;
  return program;
}

std::vector<std::string> Compilation::warnings() const {
  std::vector<std::string> all = imported.warnings;
  all.insert(all.end(), diagnostics.warnings().begin(), diagnostics.warnings().end());
  return all;
}

std::string moduleText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text + "\n";
}

Expected<std::string> moduleBytecode(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  Location unknown = UnknownLoc::get(module.getContext());
  copy->walk([&](Operation *op) {
    StringAttr part = partOf(op->getLoc());
    op->setLoc(part ? named(part, roleOf(op->getLoc())) : unknown);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(unknown);
  });
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(writeBytecodeToFile(*copy, stream, BytecodeWriterConfig("heddle"))))
    return deviceError("the fused stage cannot be written as bytecode");
  return bytes;
}

} // namespace heddle
