//===- DescriptionImport.cpp - Model descriptions as modules --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imports a description: reads it, builds its functions and opens its weights.

#include "DescriptionImport.h"

#include "Description.h"
#include "ModelBuilder.h"
#include "WeightCheck.h"

#include "heddle/Dialect/Transformer/IR/TrainingAttributes.h"
#include "heddle/Pack/SeededWeights.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace heddle;

/// Warns if a mask hides keys with a finite score. Hidden keys after the query get a share of
/// attention in `decode` and do not exist in `decode_step`.
static std::string hiddenKeysAhead(const Description &d) {
  if (!d.decoder || !d.decoder->documents.empty())
    return {};
  for (size_t i = 0; i < d.decoder->layers.size(); ++i) {
    const LayerDescription &layer = d.decoder->layers[i];
    if (layer.mask && layer.self.hiddenScore && *layer.self.hiddenScore > lowestShare)
      return d.file + ": decoder." + std::to_string(i) +
             ": hidden-score with a mask: hidden keys ahead of a query have a share in decode and "
             "do not exist yet in decode_step, so the two differ";
  }
  return {};
}

/// Warns if `decode` and `decode_step` see different keys: a step sees no keys after its own.
static std::string keysAhead(const Description &d) {
  if (!d.decoder || !d.decoder->documents.empty())
    return {};
  for (size_t i = 0; i < d.decoder->layers.size(); ++i) {
    const std::optional<MaskExpression> &mask = d.decoder->layers[i].mask;
    std::string place = d.file + ": decoder." + std::to_string(i) + ": ";
    if (!mask)
      continue;
    // A constant offset is the same in every step, but steps count queries anew.
    if (llvm::any_of(mask->calls, [](const MaskCall &call) { return call.offset.has_value(); }))
      return place + "mask: an offset that is a number is the same in each call, and decode_step "
                     "counts queries from its own, so decode and decode_step differ";
    if (mask->seesAhead)
      return place + "mask: keys ahead of a query are allowed in decode and do not exist yet in "
                     "decode_step, so the two differ";
  }
  return {};
}

/// Makes every attention return the weights of its heads.
static void returnWeights(Description &d) {
  for (auto *stack : {&d.encoder, &d.decoder})
    for (size_t i = 0; *stack && i < (*stack)->layers.size(); ++i)
      for (AttentionDescription *a : {&(*stack)->layers[i].self, &(*stack)->layers[i].cross})
        a->returnWeights = ReturnWeights::Heads;
}

/// The description with the files that a compiled file carries, for a folder of trained weights.
static std::string portableText(const Description &d) {
  Json document = *d.document;
  document["weights"] = "model.safetensors";
  for (const auto &[name, side] : {std::pair("source", &d.source), {"target", &d.target}}) {
    if (!*side || !document[name]["vocabulary"].is_string())
      continue;
    const std::string &tokenizer = (*side)->tokenizerFile;
    document[name]["vocabulary"] = tokenizer.empty() ? std::string(name) + ".txt" : tokenizer;
  }
  if (d.classifier && document["classifier"].contains("labels") &&
      document["classifier"]["labels"].is_string())
    document["classifier"]["labels"] =
        d.texts.contains("labels.json") ? "labels.json" : "labels.txt";
  return document.dump(2) + "\n";
}

/// Sets the names of the frozen weights. Error for an entry of the recipe that names none.
static Status setFrozen(const Recipe &recipe, ImportedModel &model, const std::string &file) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const std::string &entry : recipe.frozen) {
    const size_t before = names.size();
    for (const TensorInfo &tensor : model.tensors)
      if (isNamedBy(entry, tensor.name) && !llvm::is_contained(names, tensor.name))
        names.push_back(tensor.name);
    if (names.size() == before)
      return inputError(file +
                        ": training.frozen: expected the name of a tensor or its beginning up to a "
                        "dot, which no other entry has, found " +
                        quotedText(entry));
  }
  if (!names.empty())
    (*model.module)
        ->setAttr(transformer::frozenWeights,
                  mlir::Builder(model.module->getContext()).getStrArrayAttr(names));
  return {};
}

Status heddle::setKept(const std::string &keep, Recipe &recipe, mlir::ModuleOp module) {
  if (!keep.empty()) {
    const auto given = keepOf(keep);
    if (!given)
      return usageError("--keep: expected all, layers or a number of layers, found " +
                        quotedText(keep));
    recipe.keep = *given;
  }
  if (const auto layers = recipe.keptLayers())
    module->setAttr(transformer::keptLayers,
                    mlir::Builder(module.getContext()).getI64IntegerAttr(*layers));
  return {};
}

/// Adds what a run of training needs: the recipe, and the description.
static void addTraining(const Description &d, ModelFacts &facts, ImportedModel &model) {
  facts.text.training = toJson(d.training.recipe);
  facts.text.size = d.size;
  if (std::string why = d.whyPadded(); !why.empty())
    (*model.module)
        ->setAttr(transformer::paddedBecause,
                  mlir::StringAttr::get(model.module->getContext(), why));
  if (d.document)
    model.texts["model.json"] = portableText(d);
}

Expected<ImportedModel> heddle::importWithoutWeights(Description &description,
                                                     const ImportOptions &options,
                                                     mlir::MLIRContext &context) {
  if (options.attentionWeights)
    returnWeights(description);
  if (options.context && !description.target)
    return usageError("--context: expected a model with a target, whose caches hold tokens, found "
                      "one without");
  if (options.context)
    description.target->limit = *options.context;
  if (options.training) {
    if (std::string found = description.whyNoLoss(); !found.empty())
      return usageError("--training: " + description.file +
                        ": expected a decoder of tokens with a start and one class a token, or an "
                        "encoder with one class a text, found " +
                        found);
    description.classifier->loss = true;
    description.training.packs = description.whyPadded().empty();
  }
  ImportedModel model;
  model.module = HEDDLE_TRY(buildModel(description, context, model.tensors));
  ModelFacts facts = factsOf(description);
  if (options.training) {
    HEDDLE_TRY(setKept(options.keep, description.training.recipe, *model.module));
    HEDDLE_TRY(setFrozen(description.training.recipe, model, description.file));
    addTraining(description, facts, model);
  }
  model.facts = toJson(facts);
  model.warnings = std::move(description.warnings);
  for (const std::string &warning : {hiddenKeysAhead(description), keysAhead(description)})
    if (!warning.empty())
      model.warnings.push_back(warning);
  model.texts.merge(description.texts);
  model.files = std::move(description.files);
  return model;
}

Expected<ImportedModel> heddle::importDescription(const std::string &path,
                                                  const ImportOptions &options,
                                                  mlir::MLIRContext &context) {
  if (!options.weights.empty())
    return usageError("--weights: expected a .mlir model with it, found " + path +
                      ", which says itself where its weights are");
  if (!options.adapter.empty())
    return usageError("--adapter: expected a Hugging Face folder with it, found " + path);
  auto description = HEDDLE_TRY(readDescription(path, options.mask));
  ImportedModel model = HEDDLE_TRY(importWithoutWeights(description, options, context));
  const bool hasWeights =
      !description.seed && !(options.training && !llvm::sys::fs::exists(description.weightsFile));
  if (hasWeights)
    model.files.push_back(description.weightsFile);
  if (options.needsWeights && hasWeights) {
    HEDDLE_TRY(openWeights(description.weightsFile, model));
    return model;
  }
  model.weights = HEDDLE_TRY(
      makeSeededWeights(description.seed.value_or(0),
                        options.needsWeights ? model.tensors : std::vector<TensorInfo>()));
  return model;
}
