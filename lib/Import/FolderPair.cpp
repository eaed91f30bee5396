//===- FolderPair.cpp - Texts and images of one space ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Joins the models of texts and of images of a folder in one module. Both give vectors of one
// space; the folder's scale turns their cosines into logits.

#include "FolderPair.h"

#include "FolderImport.h"
#include "FolderModel.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Pack/TensorView.h"
#include "heddle/Support/Program.h"
#include "heddle/Support/TextFacts.h"
#include "heddle/Support/Try.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace heddle;

static constexpr const char *imagePrefix = "image.";

/// Moves the functions of `from` to the end of `to`. The only function is `encode`, of images.
static void moveFunctions(mlir::ModuleOp from, mlir::ModuleOp to) {
  from.walk(
      [](transformer::WeightOp weight) { weight.setName(imagePrefix + weight.getName().str()); });
  for (auto function : llvm::make_early_inc_range(from.getOps<mlir::func::FuncOp>())) {
    function.setName(imageFunction);
    function->moveBefore(to.getBody(), to.getBody()->end());
  }
}

/// Adds the tensors of `images`, and a source of the weights of both.
static void joinWeights(ImportedModel &model, ImportedModel images) {
  std::vector<std::pair<std::string, TensorViewRef>> views;
  auto add = [&](const WeightSource &source, const std::string &prefix) {
    for (size_t i = 0; i < source.tensors().size(); ++i)
      views.emplace_back(prefix + source.tensors()[i].name, viewOf(source, static_cast<int>(i)));
  };
  add(*model.weights, "");
  add(*images.weights, imagePrefix);
  for (TensorInfo &tensor : images.tensors) {
    tensor.name = imagePrefix + tensor.name;
    model.tensors.push_back(std::move(tensor));
  }
  std::string name = model.weights->name();
  std::vector<std::unique_ptr<WeightSource>> owned;
  owned.push_back(std::move(model.weights));
  owned.push_back(std::move(images.weights));
  model.weights = makeViewSource(std::move(name), std::move(views), std::move(owned));
}

/// A tensor of one number, or none.
static Expected<std::optional<double>> numberOf(const WeightSource &checkpoint, const char *name) {
  const int index = checkpoint.find(name);
  if (index < 0 || checkpoint.tensors()[static_cast<size_t>(index)].elements() != 1)
    return std::optional<double>();
  HEDDLE_TRY(checkpoint.checkReadable(index));
  float number = 0;
  checkpoint.read(index, 0, std::span(&number, 1));
  if (!std::isfinite(number))
    return inputError(checkpoint.name() + ": " + name + ": expected a finite number, found " +
                      std::to_string(number));
  return std::optional<double>(number);
}

/// Takes the factor of cosines, which the checkpoint stores as a logarithm, and the number that is
/// added to their product.
static Status takeScale(TextFacts &facts, const std::string &root) {
  FolderModel folder = HEDDLE_TRY(FolderModel::open(root));
  const auto checkpoint = HEDDLE_TRY(folder.openWeights());
  if (auto logarithm = HEDDLE_TRY(numberOf(*checkpoint, "logit_scale")))
    facts.imageScale = std::exp(*logarithm);
  facts.imageBias = HEDDLE_TRY(numberOf(*checkpoint, "logit_bias"));
  return {};
}

static Status joinFacts(ImportedModel &model, const ImportedModel &images, const std::string &root,
                        const ImportOptions &options) {
  ModelFacts facts = HEDDLE_TRY(modelFactsFromJson(model.facts));
  facts.image = HEDDLE_TRY(modelFactsFromJson(images.facts)).source;
  if (options.needsWeights)
    HEDDLE_TRY(takeScale(facts.text, root));
  model.facts = toJson(facts);
  return {};
}

Expected<ImportedModel> heddle::importPair(const std::string &root, const std::string &texts,
                                           const std::string &images, const ImportOptions &options,
                                           mlir::MLIRContext &context) {
  ImportOptions ofTexts = options, ofImages = options;
  ofTexts.part = texts;
  ofImages.part = images;
  ofImages.mask.clear();       // masks are of texts
  ofImages.needsTexts = false; // commands on texts need no steps for images
  ImportedModel model = HEDDLE_TRY(importFolder(root, ofTexts, context));
  ImportedModel second = HEDDLE_TRY(importFolder(root, ofImages, context));
  HEDDLE_TRY(joinFacts(model, second, root, options));
  moveFunctions(*second.module, *model.module);
  model.texts.merge(second.texts);
  for (auto [from, to] :
       {std::pair(&second.files, &model.files), {&second.warnings, &model.warnings}})
    for (std::string &text : *from)
      if (!llvm::is_contained(*to, text))
        to->push_back(std::move(text));
  joinWeights(model, std::move(second));
  return model;
}
