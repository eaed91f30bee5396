//===- TrainingReader.cpp - Reading the section training ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schema has checked the types and bounds of the keys.

#include "TrainingReader.h"

using namespace heddle;

/// Checks values that depend on the model.
static void checkModel(const Description &model, ErrorSink &errors) {
  const TrainingDescription &training = model.training;
  if (!model.decoder && training.over == "others-but-padding")
    errors.expected(training.loss.path("over"), "all or others for classes of texts",
                    "others-but-padding");
  if (training.recipe.dropout.words > 0 && !(model.source && model.source->unknown))
    errors.expected(training.dropout.path("words"), "0 without source.unknown",
                    shown(*training.dropout.find("words")));
  if (!model.decoder && training.recipe.measure.kind == MeasureRecipe::Kind::Exact)
    errors.expected(training.in.object("measure").path("kind"), "loss or accuracy of an encoder",
                    "exact");
}

void heddle::readTraining(Description &model, ErrorSink &errors) {
  if (!model.in.gives("training"))
    return;
  auto recipe = recipeFromJson(model.in.find("training")->dump(), errors.file + ": training");
  if (!recipe)
    return errors.add("", recipe.error().message); // the schema allows no other values
  model.training.recipe = std::move(*recipe);
  if (auto problem = problemOf(model.training.recipe))
    errors.expected("training." + problem->key, problem->expected, problem->found);
  checkModel(model, errors);
}
