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

/// Factor of cosines, which the checkpoint stores as a logarithm; 0: it has none.
static Expected<double> scaleOf(const std::string &root, const ImportOptions &options) {
  if (!options.needsWeights)
    return 0.0;
  FolderModel folder = HEDDLE_TRY(FolderModel::open(root));
  const auto checkpoint = HEDDLE_TRY(folder.openWeights());
  const int index = checkpoint->find("logit_scale");
  if (index < 0 || checkpoint->tensors()[static_cast<size_t>(index)].elements() != 1)
    return 0.0;
  HEDDLE_TRY(checkpoint->checkReadable(index));
  float logarithm = 0;
  checkpoint->read(index, 0, std::span(&logarithm, 1));
  return std::exp(static_cast<double>(logarithm));
}

static Status joinFacts(ImportedModel &model, const ImportedModel &images, double scale) {
  ModelFacts facts = HEDDLE_TRY(modelFactsFromJson(model.facts));
  facts.image = HEDDLE_TRY(modelFactsFromJson(images.facts)).source;
  facts.text.imageScale = scale;
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
  HEDDLE_TRY(joinFacts(model, second, HEDDLE_TRY(scaleOf(root, options))));
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
