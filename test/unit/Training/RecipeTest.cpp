//===- RecipeTest.cpp - Recipes as JSON, and their problems ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Training/Recipe.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace heddle;

namespace {

using RateKind = RateRecipe::Kind;

Recipe read(const std::string &json) {
  auto recipe = recipeFromJson(json, "training");
  EXPECT_TRUE(recipe) << recipe.error().message;
  return recipe ? *recipe : Recipe();
}

std::string readProblem(const std::string &json) {
  auto recipe = recipeFromJson(json, "m.json: training");
  return recipe ? "no error" : recipe.error().message;
}

std::string problem(const Recipe &recipe) {
  const auto found = problemOf(recipe);
  return found ? found->key + ": expected " + found->expected + ", found " + found->found : "";
}
std::string problem(const std::string &json) { return problem(read(json)); }

TEST(Recipe, DefaultsAreLeftOut) {
  EXPECT_EQ(toJson(Recipe()), "{}");
  EXPECT_EQ(read("{}"), Recipe());
  EXPECT_EQ(problem(Recipe()), "");
  EXPECT_EQ(read(R"({"epochs": null, "keep": null, "optimizer": {"clip": null}})"), Recipe());
}

TEST(Recipe, NumberOfKeptLayers) {
  Recipe recipe;
  EXPECT_EQ(recipe.keptLayers(), std::nullopt);
  for (const auto &[text, layers] : {std::pair("layers", 0), {"3", 3}, {"0", 0}}) {
    recipe.keep = keepOf(text).value();
    EXPECT_EQ(recipe.keptLayers(), layers);
  }
  EXPECT_EQ(keepOf("all")->word, Recipe::Keep::All);
  for (const char *text : {"", "some", "-1", "1.5", "3x", "99999999999999999999"})
    EXPECT_FALSE(keepOf(text)) << text;
}

/// A recipe with all keys of the format.
TEST(Recipe, ReadsAndWritesAllKeys) {
  const std::string json =
      R"({"epochs":14,"batch":{"rows":128,"order":"random"},"seed":7,"keep":"layers",)"
      R"("optimizer":{"kind":"adamw","betas":[0.9,0.999],"epsilon":1e-08,"weight-decay":0.01,)"
      R"("clip":1.0},"rate":{"kind":"one-cycle","peak":0.002,"warmup":0.08,"first":0.0001,)"
      R"("last":1e-09,"beta1":[0.8,0.9]},"loss":{"smoothing":0.1,"over":"others-but-padding",)"
      R"("reduce":"sum"},"dropout":{"embedding":0.1,"attention":0.2,"ffn":0.3,"sublayer":0.4,)"
      R"("classifier":0.5,"words":0.01},"initial":{"matrices":"xavier-normal","tables":"normal",)"
      R"("gain":0.5},"frozen":["encoder.0"],"measure":{"kind":"exact","rows":100,"every":50}})";
  const Recipe recipe = read(json);
  EXPECT_EQ(problem(recipe), "");
  EXPECT_EQ(recipe.epochs, 14);
  EXPECT_EQ(recipe.keep.word, Recipe::Keep::Layers);
  EXPECT_EQ(recipe.optimizer.weightDecay, 0.01);
  EXPECT_EQ(recipe.rate.kind, RateKind::OneCycle);
  EXPECT_EQ(recipe.loss.over, LossRecipe::Over::OthersButPadding);
  EXPECT_EQ(recipe.measure.every.count, 50);
  EXPECT_EQ(toJson(recipe), json);
}

/// The recipes of the examples.
TEST(Recipe, Examples) {
  const Recipe recipe = read(
      R"({"epochs": 14, "batch": {"rows": 128, "tokens": null, "order": "alike"}, "seed": 0,
          "dtype": "f32", "keep": "all",
          "optimizer": {"kind": "adam", "betas": [0.9, 0.98], "epsilon": 1e-9, "weight-decay": 0,
                        "clip": 1.0},
          "rate": {"kind": "one-cycle", "peak": 2e-3, "warmup": 0.08},
          "dropout": {"sublayer": 0.05, "words": 0.01},
          "initial": {"matrices": "xavier-normal", "tables": "normal", "gain": 1},
          "measure": {"kind": "exact", "rows": 100, "every": "epoch"}})");
  EXPECT_EQ(problem(recipe), "");
  EXPECT_EQ(read(toJson(recipe)), recipe);
}

TEST(Recipe, KeepAndEveryAreWordsOrCounts) {
  EXPECT_EQ(read(R"({"keep": 3})").keep.count, 3);
  EXPECT_EQ(toJson(read(R"({"keep": 3})")), R"({"keep":3})");
  EXPECT_EQ(readProblem(R"({"keep": "some"})"),
            "m.json: training.keep: expected one of all, layers, found 'some'");
  EXPECT_EQ(readProblem(R"({"measure": {"every": 1.5}})"),
            "m.json: training.measure.every: expected an id or a count, found 1.5");
}

TEST(Recipe, DamagedText) {
  EXPECT_EQ(readProblem("[]"), "m.json: training: expected an object, found []");
  EXPECT_EQ(readProblem(R"({"rate": {"pak": 1}})"),
            "m.json: training.rate: expected known fields, found 'pak'");
  EXPECT_EQ(readProblem(R"({"rate": {"peak": "1"}})"),
            "m.json: training.rate.peak: expected a number, found '1'");
  EXPECT_EQ(readProblem(R"({"optimizer": {"betas": [0.9]}})"),
            "m.json: training.optimizer.betas: expected an array of 2, found [0.9]");
  EXPECT_EQ(readProblem(R"({"rate": {"peak": NaN}})"),
            "m.json: training:1:19: expected valid JSON, found 'N'");
}

TEST(Recipe, LengthsThatContradict) {
  EXPECT_EQ(problem(R"({"epochs": 2, "steps": 10})"),
            "steps: expected no such key with epochs, found 10");
  EXPECT_EQ(problem(R"({"epochs": 0})"), "epochs: expected an integer of at least 1, found 0");
  EXPECT_EQ(problem(R"({"batch": {"rows": 0}})"),
            "batch.rows: expected an integer of at least 1, found 0");
  EXPECT_EQ(problem(R"({"batch": {"rows": 8, "tokens": 100}})"),
            "batch.tokens: expected no such key with batch.rows, found 100");
}

TEST(Recipe, RatesThatAreNone) {
  EXPECT_EQ(problem(R"({"rate": {"kind": "linear"}})"),
            "rate.peak: expected a rate with kind linear, found no such key");
  EXPECT_EQ(problem(R"({"rate": {"kind": "one-cycle", "peak": 0}})"),
            "rate.peak: expected a number above 0, found 0.0");
  EXPECT_EQ(problem(R"({"rate": {"kind": "constant", "peak": 1e-60}})"),
            "rate.peak: expected a number above 0, found 1e-60");
  Recipe recipe;
  recipe.rate = {.kind = RateKind::Constant, .peak = std::nan("")};
  EXPECT_EQ(problem(recipe), "rate.peak: expected a number above 0, found nan");
  recipe.rate.peak = HUGE_VAL;
  EXPECT_EQ(problem(recipe), "rate.peak: expected a number above 0, found inf");
  recipe = Recipe();
  recipe.dropout.words = std::nan("");
  EXPECT_EQ(problem(recipe), "dropout.words: expected a number of at least 0, found nan");
}

TEST(Recipe, SchedulesThatContradict) {
  EXPECT_EQ(problem(R"({"rate": {"peak": 1}})"),
            "rate.peak: expected no such key with a rate of kind noam, found it");
  EXPECT_EQ(problem(R"({"rate": {"kind": "constant", "peak": 1, "last": 0}})"),
            "rate.last: expected no such key with a rate of kind constant, found it");
  EXPECT_EQ(problem(R"({"rate": {"kind": "cosine", "peak": 1, "factor": 1}})"),
            "rate.factor: expected no such key with a rate of kind cosine, found it");
  EXPECT_EQ(problem(R"({"rate": {"kind": "cosine", "peak": 1, "last": 2}})"),
            "rate.last: expected at most the peak, 1.0, found 2.0");
  EXPECT_EQ(problem(R"({"rate": {"warmup": 0}})"),
            "rate.warmup: expected a number above 0 with kind noam, found 0.0");
  EXPECT_EQ(problem(R"({"rate": {"warmup": 1.5}})"),
            "rate.warmup: expected a number of steps, or a share of all steps below 1, found 1.5");
  EXPECT_EQ(problem(R"({"steps": 100, "rate": {"kind": "linear", "peak": 1, "warmup": 100}})"),
            "rate.warmup: expected fewer steps than all, 100, found 100.0");
  // Noam may end before its peak.
  EXPECT_EQ(problem(R"({"steps": 100})"), "");
}

TEST(Recipe, OptimizersThatContradict) {
  EXPECT_EQ(problem(R"({"optimizer": {"weight-decay": 0.1}})"),
            "optimizer.weight-decay: expected 0 with adam (adamw decays weights), found 0.1");
  EXPECT_EQ(problem(R"({"optimizer": {"momentum": 0.9}})"),
            "optimizer.momentum: expected 0 with adam, found 0.9");
  EXPECT_EQ(problem(R"({"optimizer": {"betas": [0.9, 1]}})"),
            "optimizer.betas: expected a number below 1, found 1.0");
  EXPECT_EQ(problem(R"({"optimizer": {"clip": 0}})"),
            "optimizer.clip: expected a number above 0, found 0.0");
  EXPECT_EQ(problem(R"({"dropout": {"ffn": 1}})"),
            "dropout.ffn: expected a number below 1, found 1.0");
  EXPECT_EQ(problem(R"({"loss": {"smoothing": 1}})"),
            "loss.smoothing: expected a number below 1, found 1.0");
}

TEST(Recipe, FrozenNamesEndAtDots) {
  EXPECT_TRUE(isNamedBy("encoder.1", "encoder.1.ffn.in.weight"));
  EXPECT_TRUE(isNamedBy("source.embedding.weight", "source.embedding.weight"));
  EXPECT_FALSE(isNamedBy("encoder.1", "encoder.10.ffn.in.weight"));
  EXPECT_FALSE(isNamedBy("source.embedding.weight", "source.embedding"));
}

} // namespace
