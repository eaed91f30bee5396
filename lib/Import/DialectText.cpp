//===- DialectText.cpp - Reading dialect text -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses dialect text with MLIR; its first diagnostic becomes the error.

#include "DialectText.h"
#include "DescriptionImport.h"
#include "MaskReplacement.h"
#include "WeightCheck.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Pack/SeededWeights.h"
#include "heddle/Support/Try.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace heddle;

/// "file:line:col: ", or "file: " if the location has no line.
static std::string placeOf(Location location, const std::string &path) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" +
           std::to_string(place.getColumn()) + ": ";
  return path + ": ";
}

/// First line of a diagnostic with its place.
static std::string lineOf(const Diagnostic &diagnostic, const std::string &path) {
  std::string message = diagnostic.str();
  message = message.substr(0, message.find('\n'));
  constexpr size_t most = 400; // some MLIR diagnostics print whole ops
  return placeOf(diagnostic.getLocation(), path) +
         (message.size() > most ? message.substr(0, most) + "..." : message);
}

/// Each weight once; ops with the same name must agree in shape.
static Expected<std::vector<TensorInfo>> expectedTensors(ModuleOp module, const std::string &path) {
  std::vector<TensorInfo> tensors;
  std::map<std::string, size_t> index;
  std::string wrong;
  module.walk([&](transformer::WeightOp op) {
    TensorInfo info{op.getName().str(), "f32", op.getCheckpointShape().vec()};
    auto [it, isNew] = index.try_emplace(info.name, tensors.size());
    if (isNew)
      tensors.push_back(info);
    else if (tensors[it->second].shape != info.shape && wrong.empty())
      wrong = path + ": " + info.name + ": expected " + shapeText(tensors[it->second].shape) +
              " as before, found " + shapeText(info.shape);
  });
  if (!wrong.empty())
    return inputError(wrong);
  return tensors;
}

/// Checks what the pipelines assume: top-level functions with one block, and no other ops with
/// regions.
static Status checkFunctions(ModuleOp module, const std::string &path) {
  auto wrong = [&](Operation &op, const std::string &message) {
    return inputError(placeOf(op.getLoc(), path) + message);
  };
  bool any = false;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function && op.getNumRegions() > 0)
      return wrong(op, "expected functions and states, found '" +
                           op.getName().getStringRef().str() + "'");
    if (!function)
      continue;
    std::string name = "function " + function.getSymName().str();
    if (function.isExternal())
      return wrong(op, name + ": expected a body, found none");
    if (!function.getBody().hasOneBlock())
      return wrong(op, name + ": expected one block, found control flow");
    any = true;
  }
  return any ? Status() : inputError(path + ": expected a function, found none");
}

namespace {
/// Keeps the first error diagnostic that is emitted during its lifetime.
class FirstError {
public:
  FirstError(MLIRContext &context, const std::string &path)
      : handler(&context, [this, &path](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error && text.empty())
            text = lineOf(diagnostic, path);
          return success();
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

/// Maximum nesting depth of brackets, without comments and strings.
static size_t nesting(llvm::StringRef text) {
  size_t depth = 0, deepest = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      while (++i < text.size() && text[i] != '"' && text[i] != '\n')
        i += text[i] == '\\';
    } else if (text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (llvm::StringRef("([{<").contains(text[i])) {
      deepest = std::max(deepest, ++depth);
    } else if (llvm::StringRef(")]}>").contains(text[i]) && !text.substr(0, i).ends_with("-")) {
      depth -= depth > 0; // the arrow of a function type is no bracket
    }
  }
  return deepest;
}

/// Rejects text that is nested too deeply, because MLIR's parser is recursive.
static Status checkNesting(const std::string &path) {
  constexpr size_t most = 256;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer || !path.ends_with(".mlir"))
    return {}; // the parser reports unreadable files
  if (size_t found = nesting((*buffer)->getBuffer()); found > most)
    return inputError(path + ": expected brackets at most " + std::to_string(most) +
                      " deep, found " + std::to_string(found));
  return {};
}

static Expected<OwningOpRef<ModuleOp>> parsed(const std::string &path, MLIRContext &context) {
  HEDDLE_TRY(checkNesting(path));
  FirstError first(context, path);
  auto module = parseSourceFile<ModuleOp>(path, ParserConfig(&context));
  if (!module)
    return inputError(first.text.empty() ? path + ": expected dialect text" : first.text);
  return module;
}

/// Replaces masks and verifies that the new ones fit the ops that use them.
static Status withMasks(ModuleOp module, const std::vector<std::string> &masks,
                        const std::string &path) {
  HEDDLE_TRY(replaceMasks(module, masks, path));
  FirstError first(*module.getContext(), path);
  return succeeded(verify(module)) ? Status() : inputError("--mask: " + first.text);
}

Expected<ImportedModel> heddle::importDialectText(const std::string &path,
                                                  const ImportOptions &options,
                                                  MLIRContext &context) {
  if (options.context)
    return usageError("--context: expected a description or a folder, found " + path +
                      ", whose states say how many rows they hold");
  auto module = HEDDLE_TRY(parsed(path, context));
  Status status = checkFunctions(*module, path);
  if (status && !options.mask.empty())
    status = withMasks(*module, options.mask, path);
  if (!status)
    return status.takeError();
  if (!options.adapter.empty())
    return usageError("--adapter: expected a Hugging Face folder with it, found " + path);
  ImportedModel model;
  model.module = std::move(module);
  Recipe recipe;
  HEDDLE_TRY(setKept(options.keep, recipe, *model.module));
  model.files.push_back(path);
  if (!options.weights.empty())
    model.files.push_back(options.weights);
  auto tensors = HEDDLE_TRY(expectedTensors(*model.module, path));
  model.tensors = std::move(tensors);
  if (options.needsWeights && !options.weights.empty()) {
    HEDDLE_TRY(openWeights(options.weights, model));
    return model;
  }
  if (options.needsWeights && !model.tensors.empty())
    return usageError(path + ": expected --weights FILE.safetensors for " +
                      std::to_string(model.tensors.size()) +
                      (model.tensors.size() == 1 ? " tensor, " : " tensors, the first is ") +
                      model.tensors.front().name);
  model.weights = HEDDLE_TRY(makeSeededWeights(0, {}));
  return model;
}
