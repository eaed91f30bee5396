//===- TrainingKeysTest.cpp - The section training ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the schema with the fields of a recipe, and the errors of a description.

#include "Description.h"
#include "ImportFixture.h"
#include "Schema.h"

#include "heddle/Support/FieldsJson.h"

#include <set>

using namespace heddle;
using namespace heddle::test;

namespace {

class TrainingKeysTest : public ImportTest {
protected:
  std::string training(const Json &keys) { return problemWith("/training", keys); }
};

const Json &definitions() {
  static const Json schema = Json::parse(modelDescriptionSchema());
  return schema["$defs"];
}

/// Expects that the properties of a definition have the names of a structure's fields.
template <typename T>
void expectFields(const char *definition) {
  std::set<std::string> keys, fields;
  for (const auto &[key, ignored] : definitions()[definition]["properties"].items())
    keys.insert(key);
  for (const std::string &word : fieldWords<T>())
    fields.insert(spelled<JsonStyle::Facts>(word));
  EXPECT_EQ(keys, fields) << definition;
}

TEST_F(TrainingKeysTest, SchemaHasTheFieldsOfARecipe) {
  expectFields<Recipe>("training");
  expectFields<BatchRecipe>("batch");
  expectFields<OptimizerRecipe>("optimizer");
  expectFields<RateRecipe>("rate");
  expectFields<LossRecipe>("loss");
  expectFields<DropoutRecipe>("dropout");
  expectFields<InitialRecipe>("initial");
  expectFields<MeasureRecipe>("measure");
}

/// Values of all defaults that the schema does not describe in words.
Json defaultsOf(const char *definition) {
  Json values = Json::object();
  for (const auto &[key, property] : definitions()[definition]["properties"].items()) {
    if (property.contains("$ref"))
      values[key] = defaultsOf(key.c_str());
    else if (property.contains("default") &&
             (property.contains("enum") || !property["default"].is_string()))
      values[key] = property["default"];
  }
  return values;
}

TEST_F(TrainingKeysTest, SchemaHasTheDefaultsOfARecipe) {
  const Json values = defaultsOf("training");
  EXPECT_EQ(values["optimizer"]["betas"], Json::array({0.9, 0.98}));
  auto recipe = recipeFromJson(values.dump(), "training");
  ASSERT_TRUE(recipe) << recipe.error().message;
  EXPECT_EQ(*recipe, Recipe());
}

TEST_F(TrainingKeysTest, DescriptionsHaveARecipe) {
  Json json = small();
  json["training"] = {{"epochs", 3}, {"rate", {{"kind", "one-cycle"}, {"peak", 0.002}}}};
  auto model = readDescription(json, folder + "/m.json", {});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->training.recipe.epochs, 3);
  EXPECT_EQ(model->training.recipe.rate.peak, 0.002);
  json.erase("training");
  EXPECT_EQ(readDescription(json, folder + "/m.json", {})->training.recipe, Recipe());
}

/// The schema finds types and bounds.
TEST_F(TrainingKeysTest, BadValues) {
  EXPECT_EQ(training({{"batch", {{"rows", 0}}}}),
            "m.json: training.batch.rows: expected an integer of at least 1 and at most 1048576, "
            "found 0");
  EXPECT_EQ(training({{"rate", {{"kind", "linear"}, {"peak", 0}}}}),
            "m.json: training.rate.peak: expected a number above 0, found 0");
  EXPECT_EQ(training({{"rate", {{"kind", "step"}}}}),
            "m.json: training.rate.kind: expected one of noam, cosine, linear, constant, "
            "one-cycle, found 'step'");
  EXPECT_EQ(training({{"keep", "some"}}),
            "m.json: training.keep: expected one of all, layers, found 'some'");
  EXPECT_EQ(training({{"keep", 1.5}}),
            "m.json: training.keep: expected all, layers or a number of layers, found 1.5");
  EXPECT_EQ(training({{"optimizer", {{"betas", {0.9, 1}}}}}),
            "m.json: training.optimizer.betas: expected two numbers of at least 0 and below 1, "
            "found [0.9,1]");
  EXPECT_EQ(training({{"dropout", {{"words", 1}}}}),
            "m.json: training.dropout.words: expected a number below 1, found 1");
  EXPECT_EQ(training({{"dtype", "bf16"}}),
            "m.json: training.dtype: expected one of f32, found 'bf16'");
  EXPECT_EQ(training({{"rate", {{"pak", 1}}}}),
            "m.json: training.rate.pak: expected a known key, found 'pak', the nearest known one "
            "is 'peak'");
}

/// The recipe finds contradictions.
TEST_F(TrainingKeysTest, Contradictions) {
  EXPECT_EQ(training({{"epochs", 2}, {"steps", 100}}),
            "m.json: training.steps: expected no such key with epochs, found 100");
  EXPECT_EQ(training({{"rate", {{"kind", "cosine"}}}}),
            "m.json: training.rate.peak: expected a rate with kind cosine, found no such key");
  EXPECT_EQ(training({{"optimizer", {{"weight-decay", 0.01}}}}),
            "m.json: training.optimizer.weight-decay: expected 0 with adam (adamw decays "
            "weights), found 0.01");
}

TEST_F(TrainingKeysTest, ContradictionsWithTheModel) {
  Json json = small();
  json["source"]["unknown"] = nullptr;
  json["training"] = {{"dropout", {{"words", 0.01}}}};
  EXPECT_EQ(problem(json),
            "m.json: training.dropout.words: expected 0 without source.unknown, found 0.01");
}

} // namespace
