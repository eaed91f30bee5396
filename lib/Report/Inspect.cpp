//===- Inspect.cpp - Contents of models and compiled files ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inspection of models and compiled files. Compiled files have a program; other models are lowered
// to it. The list of weights has all tensors that packing requires from a checkpoint.

#include "heddle/Report/Inspect.h"

#include "Graph.h"
#include "ProgramText.h"
#include "Summary.h"
#include "heddle/Compiler/Models.h"
#include "heddle/Runtime/Vulkan/VulkanCode.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Support/Dims.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"
#include "heddle/Support/VulkanLevels.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace heddle {

namespace {

/// Line about the shaders of a level and their requirements beyond Vulkan 1.1.
std::string levelLine(const Program &program, int level) {
  int64_t kernels = 0;
  std::set<std::string> needs;
  for (const Kernel &kernel : program.kernels)
    for (const VulkanVariant &variant : kernel.vulkan) {
      if (variant.level != level)
        continue;
      kernels += variant.rows < 0; // forms for few rows are not separate kernels
      needs.insert(variant.features.begin(), variant.features.end());
      if (variant.subgroup)
        needs.insert("subgroups of " + std::to_string(variant.subgroup));
      for (const MatrixShape &shape : variant.matrices)
        needs.insert("matrices of " + matrixText(shape));
    }
  std::string text;
  for (const std::string &need : needs)
    text += (text.empty() ? " needs " : ", ") + need;
  return "  vulkan level " + std::to_string(level) + ": " + std::to_string(kernels) + " kernels" +
         text + "\n";
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
  std::set<int> levels;
  for (const Kernel &kernel : artifact.program().kernels)
    for (const VulkanVariant &variant : kernel.vulkan)
      levels.insert(variant.level);
  for (int level : levels)
    text += levelLine(artifact.program(), level);
  return text;
}

/// Usage error for a name in --dim that no function has.
Status checkDims(const Program &program, const Dimensions &dims) {
  std::set<std::string> known;
  for (const Function &function : program.functions)
    for (const auto *names : {&function.dims, &function.stateDims})
      known.insert(names->begin(), names->end());
  return checkNames(dims, known);
}

/// Text of a module at the fused stage and of its program.
Expected<std::string> describe(const std::string &model, mlir::ModuleOp fused,
                               const Program &program, const InspectOptions &options) {
  HEDDLE_TRY(checkDims(program, options.dims));
  std::string text = HEDDLE_TRY(programText(fused, program, options.dims, options.all));
  return summaryText(model, program) + text;
}

/// Summary, program and members as one line of JSON.
Expected<std::string> describeJson(const std::string &model, const OpenedModel &opened,
                                   const Dimensions &dims) {
  using Json = nlohmann::ordered_json;
  HEDDLE_TRY(checkDims(opened.program(), dims));
  Json report = summaryJson(model, opened.program());
  HEDDLE_TRY(addProgramJson(opened.program(), dims, report));
  if (opened.artifact()) {
    Json &members = report["members"] = Json::array();
    for (const ContainerMember &member : opened.artifact()->members())
      members.push_back({{"name", member.name}, {"bytes", member.size}});
  }
  return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Expected<std::string> check(const std::string &path, const CompileOptions &compile) {
  if (!isArtifactPath(path))
    return usageError("--check: expected a .heddle file, found " + path);
  HEDDLE_TRY(checkCompiled(path, compile));
  Artifact artifact = HEDDLE_TRY(readArtifact(path));
  HEDDLE_TRY(artifact.check());
  return path + ": all checksums match\n";
}

/// Statistics of pipelines, one line per kernel, under the driver's own names.
Expected<std::string> pipelines(const std::string &path, const InspectOptions &options,
                                const CompileOptions &compile) {
  if (!isArtifactPath(path))
    return usageError("--pipelines: expected a .heddle file, found " + path);
  HEDDLE_TRY(checkCompiled(path, compile));
  Artifact artifact = HEDDLE_TRY(readArtifact(path));
  auto textOf = [](const std::pair<std::string, std::string> &statistic) {
    return statistic.first + " " + statistic.second;
  };
  std::string text;
  for (const VulkanPipeline &pipeline :
       HEDDLE_TRY(listVulkanPipelines(artifact, options.device, options.vulkanLevel)))
    text += pipeline.kernel + " " + pipeline.variant + ": " +
            listText(pipeline.statistics, textOf) + "\n";
  return text;
}

/// Type in the file, shape, and types and bytes of the stored forms of each tensor.
Expected<std::string> keptList(const OpenedModel &opened) {
  const WeightSource &source = *opened.weights();
  const Program &program = opened.program();
  std::string list;
  for (const TensorInfo &tensor : opened.tensors()) {
    std::string types;
    int64_t bytes = 0;
    for (const PackEntry &entry : program.pack)
      if (entry.tensor == tensor.name) {
        types += (types.empty() ? "" : ",") + std::string(toString(entry.type));
        bytes += program.weights[static_cast<size_t>(entry.weight)].elements * 4;
      }
    const int index = HEDDLE_TRY(source.require(tensor.name, tensor.shape));
    list += tensor.name + "\t" + source.fileType(index) + "\t" + shapeText(tensor.shape) + "\t" +
            types + "\t" + std::to_string(bytes) + "\n";
  }
  return list;
}

Expected<std::string> weightsList(const std::string &model, const CompileOptions &compile) {
  OpenedModel opened = HEDDLE_TRY(OpenedModel::read(model, compile));
  if (opened.weights() && !opened.weights()->tensors().empty())
    return keptList(HEDDLE_TRY(OpenedModel::plan(model, compile)));
  std::string list;
  for (const TensorInfo &tensor : opened.tensors())
    list += tensor.name + "\tf32\t" + shapeText(tensor.shape) + "\n";
  return list;
}

} // namespace

Expected<std::string> inspectModel(const std::string &model, const InspectOptions &options,
                                   const CompileOptions &compile) {
  if (options.check)
    return check(model, compile);
  if (options.weightsList)
    return weightsList(model, compile);
  if (options.pipelines)
    return pipelines(model, options, compile);
  OpenedModel opened = HEDDLE_TRY(OpenedModel::plan(model, compile));
  if (options.json)
    return describeJson(model, opened, options.dims);
  Expected<std::string> text = describe(model, opened.module(), opened.program(), options);
  if (text && opened.artifact())
    *text += memberList(*opened.artifact());
  return text;
}

Expected<std::string> drawModel(const std::string &model, const Dimensions &dims,
                                const CompileOptions &compile) {
  OpenedModel opened = HEDDLE_TRY(OpenedModel::plan(model, compile));
  HEDDLE_TRY(checkDims(opened.program(), dims));
  return graphSvg(modelGraph(opened.module(), dims));
}

} // namespace heddle
