//===- DialectText.cpp - Models written in the dialect --------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsing is MLIR's; its first diagnostic becomes the one line of the error.
//
//===----------------------------------------------------------------------===//

#include "DialectText.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Pack/Safetensors.h"
#include "heddle/Pack/SeededWeights.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace heddle;

/// "file:line:col: message" of a diagnostic.
static std::string lineOf(const Diagnostic &diagnostic, const std::string &path) {
  std::string text;
  if (auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
    text = place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn()) + ": ";
  else
    text = path + ": ";
  std::string message = diagnostic.str();
  return text + message.substr(0, message.find('\n'));
}

/// Each weight once; two ops of one name have to agree.
static Expected<std::vector<TensorInfo>> expectedTensors(ModuleOp module, const std::string &path) {
  std::vector<TensorInfo> tensors;
  std::map<std::string, size_t> index;
  std::string wrong;
  module.walk([&](transformer::WeightOp op) {
    auto type = cast<RankedTensorType>(op.getType());
    TensorInfo info{op.getName().str(), "f32", {type.getShape().begin(), type.getShape().end()}};
    auto [it, isNew] = index.try_emplace(info.name, tensors.size());
    if (isNew)
      tensors.push_back(info);
    else if (tensors[it->second].shape != info.shape && wrong.empty())
      wrong = path + ": " + info.name + ": expected " + shapeText(tensors[it->second].shape) + " as before, found " + shapeText(info.shape);
  });
  if (!wrong.empty())
    return inputError(wrong);
  return tensors;
}

Expected<ImportedModel> heddle::importDialectText(const std::string &path, const ImportOptions &options, MLIRContext &context) {
  if (!options.masks.empty())
    return usageError("--mask of a .mlir file: not built yet");
  ImportedModel model;
  std::string first;
  {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && first.empty())
        first = lineOf(diagnostic, path);
      return success();
    });
    model.module = parseSourceFile<ModuleOp>(path, ParserConfig(&context));
  }
  if (!model.module)
    return inputError(first.empty() ? path + ": expected dialect text" : first);
  auto tensors = expectedTensors(*model.module, path);
  if (!tensors)
    return tensors.takeError();
  model.tensors = std::move(*tensors);
  if (options.needsWeights && options.weights.empty() && !model.tensors.empty())
    return usageError(path + ": expected --weights FILE.safetensors for " + std::to_string(model.tensors.size()) + " tensors, the first is " +
                      model.tensors.front().name);
  auto source = !options.needsWeights || options.weights.empty() ? makeSeededWeights(0, {}) : openSafetensors(options.weights);
  if (!source)
    return source.takeError();
  model.weights = std::move(*source);
  return model;
}
