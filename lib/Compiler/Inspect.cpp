//===- Inspect.cpp - What a model or a file holds -------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file is read and its program shown; a model is brought to its program, which
// is shown the same way. The list of weights is what packing asks a checkpoint for.
//
//===----------------------------------------------------------------------===//

#include "heddle/Compiler/Inspect.h"

#include "Compilation.h"
#include "Explain.h"
#include "Graph.h"
#include "LayerText.h"
#include "ProgramText.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Support/Json.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace heddle {

namespace {

std::string tensorLine(const std::string &name, const std::vector<int64_t> &shape) {
  return name + "\tf32\t" + shapeText(shape) + "\n";
}

std::string kindOf(const Program &program) {
  auto facts = parseJson(program.model, "model");
  return facts && facts->is_object() && facts->contains("kind") && (*facts)["kind"].is_string()
             ? (*facts)["kind"].get<std::string>()
             : "dialect text";
}

std::string memberList(const Artifact &artifact) {
  std::string text = "members\n";
  for (const ContainerMember &member : artifact.members())
    text += "  " + member.name + " " + std::to_string(member.size) + " bytes\n";
  for (const CpuMember &cpu : artifact.cpu()) {
    text += "  cpu " + cpu.isa + " needs";
    for (const std::string &feature : cpu.features)
      text += " " + feature;
    text += "\n";
  }
  return text;
}

/// A name that no function knows would be ignored silently.
Status checkDims(const Program &program, const Dimensions &dims) {
  std::set<std::string> known;
  for (const Function &function : program.functions)
    for (const auto *names : {&function.dims, &function.stateDims})
      known.insert(names->begin(), names->end());
  for (const auto &[name, value] : dims)
    if (!known.contains(name)) {
      std::string list;
      for (const std::string &dim : known)
        list += (list.empty() ? "" : ", ") + dim;
      return usageError("--dim: expected a dimension of " + (list.empty() ? "none" : list) +
                        ", found " + quotedText(name));
    }
  return {};
}

/// The module is at the fused stage, the program is what became of it.
Expected<std::string> describe(mlir::ModuleOp fused, const Program &program,
                               const InspectOptions &options) {
  if (Status status = checkDims(program, options.dims); !status)
    return status.takeError();
  auto layers = [&](const Function &function) -> Expected<std::string> {
    auto body = fused.lookupSymbol<mlir::func::FuncOp>(function.name);
    return body ? layerText(body, function, options.dims) : Expected<std::string>("");
  };
  Expected<std::string> text = programText(program, options.dims, layers);
  if (!text)
    return text;
  return "kind " + kindOf(program) + "\n" + *text;
}

/// Checks and lists need no code and no stage.
Expected<std::string> readOnly(const std::string &path, const InspectOptions &options) {
  Expected<Artifact> artifact = readArtifact(path);
  if (!artifact)
    return artifact.takeError();
  if (options.check) {
    if (Status status = artifact->check(); !status)
      return status.takeError();
    return path + ": every byte is as it was written\n";
  }
  std::string list;
  for (const PackEntry &entry : artifact->program().pack)
    if (entry.layout != PackEntry::Layout::Scales) // its codes have a line
      list += tensorLine(entry.tensor, entry.shape);
  return list;
}

/// What a model is at the fused stage, and the program that it becomes.
using AskModel = llvm::function_ref<Status(mlir::ModuleOp fused, const Program &program,
                                           const Artifact *artifact)>;

Status onModel(const std::string &model, const CompileOptions &compile, AskModel ask) {
  if (isArtifactPath(model)) {
    if (Status status = checkCompiled(model, compile); !status)
      return status;
    return onFusedStage(model, [&](mlir::ModuleOp fused, const Artifact &artifact) {
      return ask(fused, artifact.program(), &artifact);
    });
  }
  CompileOptions withoutWeights = compile;
  withoutWeights.needsWeights = false;
  auto compilation = Compilation::load(model, withoutWeights);
  if (!compilation)
    return compilation.takeError();
  if (Status status = (*compilation)->advance(Stage::Fused); !status)
    return status;
  mlir::OwningOpRef<mlir::ModuleOp> fused = (*compilation)->module().clone();
  auto program = (*compilation)->program();
  if (!program)
    return program.takeError();
  return ask(*fused, *program, nullptr);
}

Expected<std::string> weightsList(const std::string &model, const CompileOptions &compile) {
  CompileOptions withoutWeights = compile;
  withoutWeights.needsWeights = false;
  auto compilation = Compilation::load(model, withoutWeights);
  if (!compilation)
    return compilation.takeError();
  std::string list;
  for (const TensorInfo &tensor : (*compilation)->model().tensors)
    list += tensorLine(tensor.name, tensor.shape);
  return list;
}

} // namespace

Expected<std::string> inspectModel(const std::string &model, const InspectOptions &options,
                                   const CompileOptions &compile) {
  if (isArtifactPath(model) && (options.check || options.weightsList)) {
    if (Status status = checkCompiled(model, compile); !status)
      return status.takeError();
    return readOnly(model, options);
  }
  if (options.check)
    return usageError("--check: expected a .heddle file, found " + model);
  if (options.weightsList)
    return weightsList(model, compile);
  std::string text;
  Status status = onModel(
      model, compile,
      [&](mlir::ModuleOp fused, const Program &program, const Artifact *artifact) -> Status {
        Expected<std::string> described = describe(fused, program, options);
        if (!described)
          return described.takeError();
        text = *described + (artifact ? memberList(*artifact) : "");
        return {};
      });
  return status ? Expected<std::string>(std::move(text)) : status.takeError();
}

Expected<std::string> drawModel(const std::string &model, const Dimensions &dims,
                                const CompileOptions &compile) {
  std::string drawing;
  Status status =
      onModel(model, compile, [&](mlir::ModuleOp fused, const Program &program, const Artifact *) {
        if (Status known = checkDims(program, dims); !known)
          return known;
        drawing = graphSvg(modelGraph(fused, dims));
        return Status();
      });
  return status ? Expected<std::string>(std::move(drawing)) : status.takeError();
}

std::string descriptionSchema() { return modelDescriptionSchema(); }

} // namespace heddle
