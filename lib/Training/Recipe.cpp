//===- Recipe.cpp - Recipes as JSON, and their problems -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of values and of combinations. The schema of descriptions checks types and bounds earlier,
// but flags of commands and compiled files pass no schema.
#include "heddle/Training/Recipe.h"

#include "heddle/Support/FieldsJson.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace heddle;
using Json = nlohmann::ordered_json;

std::string heddle::toJson(const Recipe &recipe) {
  return FieldEncoder<JsonStyle::Facts>::encode(recipe).dump(-1, ' ', false,
                                                             Json::error_handler_t::replace);
}

Expected<Recipe> heddle::recipeFromJson(std::string_view json, const std::string &place) {
  return factsFrom<Recipe>(HEDDLE_TRY(parseJson(json, place)), place);
}

bool heddle::isNamedBy(std::string_view entry, std::string_view tensor) {
  return tensor == entry || (tensor.starts_with(entry) && tensor[entry.size()] == '.');
}

//===- Problems ----------------------------------------------------------===//

namespace {

/// Collects the first problem.
class Checks {
public:
  std::optional<RecipeProblem> first;

  void require(bool right, const std::string &key, const std::string &expected,
               const std::string &found) {
    if (!right && !first)
      first = RecipeProblem{key, expected, found};
  }
  void count(const std::string &key, std::optional<int64_t> value) {
    if (value)
      require(*value >= 1, key, "an integer of at least 1", std::to_string(*value));
  }
  /// A finite number of f32 above 0: a smaller one would be rounded to 0 in a kernel.
  void positive(const std::string &key, std::optional<double> value) {
    if (value)
      require(std::isfinite(static_cast<float>(*value)) && static_cast<float>(*value) > 0, key,
              "a number above 0", numberText(*value));
  }
  void notNegative(const std::string &key, std::optional<double> value) {
    if (value)
      require(std::isfinite(static_cast<float>(*value)) && *value >= 0, key,
              "a number of at least 0", numberText(*value));
  }
  /// A number of at least 0 and below 1.
  void share(const std::string &key, double value) {
    require(value >= 0, key, "a number of at least 0", numberText(value));
    require(static_cast<float>(value) < 1, key, "a number below 1", numberText(value));
  }

  static std::string numberText(double value) {
    return std::isfinite(value) ? Json(value).dump() : formatted("%g", value);
  }
};

void checkLength(const Recipe &recipe, Checks &checks) {
  checks.count("epochs", recipe.epochs);
  checks.count("steps", recipe.steps);
  if (recipe.epochs && recipe.steps)
    checks.require(false, "steps", "no such key with epochs", std::to_string(*recipe.steps));
  const BatchRecipe &batch = recipe.batch;
  checks.count("batch.rows", batch.rows);
  checks.count("batch.tokens", batch.tokens);
  if (batch.rows && batch.tokens)
    checks.require(false, "batch.tokens", "no such key with batch.rows",
                   std::to_string(*batch.tokens));
  checks.count("measure.rows", recipe.measure.rows);
  checks.count("measure.every", recipe.measure.every.count);
  checks.require(recipe.seed >= 0 && recipe.seed <= INT32_MAX, "seed",
                 "an integer of at least 0 and at most 2147483647", std::to_string(recipe.seed));
  if (recipe.keep.count)
    checks.require(*recipe.keep.count >= 0, "keep", "all, layers or a number of layers",
                   std::to_string(*recipe.keep.count));
}

void checkOptimizer(const OptimizerRecipe &optimizer, Checks &checks) {
  using Kind = OptimizerRecipe::Kind;
  const std::string &kind = wordOf(optimizer.kind);
  checks.share("optimizer.betas", optimizer.betas[0]);
  checks.share("optimizer.betas", optimizer.betas[1]);
  checks.positive("optimizer.epsilon", optimizer.epsilon);
  checks.notNegative("optimizer.weight-decay", optimizer.weightDecay);
  checks.share("optimizer.momentum", optimizer.momentum);
  checks.positive("optimizer.clip", optimizer.clip);
  checks.require(optimizer.weightDecay == 0 || optimizer.kind == Kind::Adamw,
                 "optimizer.weight-decay", "0 with " + kind + " (adamw decays weights)",
                 Checks::numberText(optimizer.weightDecay));
  checks.require(optimizer.momentum == 0 || optimizer.kind == Kind::Sgd, "optimizer.momentum",
                 "0 with " + kind, Checks::numberText(optimizer.momentum));
  const OptimizerRecipe usual;
  const bool hasMoments = optimizer.kind != Kind::Sgd;
  checks.require(hasMoments || optimizer.betas == usual.betas, "optimizer.betas",
                 "no such key with " + kind + ", which has no moments",
                 Checks::numberText(optimizer.betas[0]));
  checks.require(hasMoments || optimizer.epsilon == usual.epsilon, "optimizer.epsilon",
                 "no such key with " + kind + ", which has no moments",
                 Checks::numberText(optimizer.epsilon));
}

/// Rates and their keys. A key that the kind of the schedule does not use is an error.
void checkRate(const Recipe &recipe, Checks &checks) {
  using Kind = RateRecipe::Kind;
  const RateRecipe &rate = recipe.rate;
  const std::string kind = spelled<JsonStyle::Facts>(wordOf(rate.kind));
  const bool noam = rate.kind == Kind::Noam, cycle = rate.kind == Kind::OneCycle;
  const bool constant = rate.kind == Kind::Constant;
  auto only = [&](const char *key, const auto &value, bool belongs) {
    checks.require(!value || belongs, key, "no such key with a rate of kind " + kind, "it");
  };
  only("rate.factor", rate.factor, noam);
  only("rate.peak", rate.peak, !noam);
  only("rate.first", rate.first, cycle);
  only("rate.last", rate.last, !noam && !constant);
  only("rate.beta1", rate.beta1, cycle);
  checks.require(noam || rate.peak, "rate.peak", "a rate with kind " + kind, "no such key");
  checks.positive("rate.factor", rate.factor);
  checks.positive("rate.peak", rate.peak);
  checks.notNegative("rate.warmup", rate.warmup);
  checks.notNegative("rate.first", rate.first);
  checks.notNegative("rate.last", rate.last);
  for (const auto &[key, value] : {std::pair("rate.first", rate.first), {"rate.last", rate.last}})
    if (value && rate.peak)
      checks.require(*value <= *rate.peak, key,
                     "at most the peak, " + Checks::numberText(*rate.peak),
                     Checks::numberText(*value));
  for (double beta : rate.beta1.value_or(std::array<double, 2>{}))
    checks.share("rate.beta1", beta);
  checks.require(!rate.beta1 || recipe.optimizer.kind != OptimizerRecipe::Kind::Sgd, "rate.beta1",
                 "no such key with sgd", "it");
  const double warmup = rate.warmup.value_or(rate.usualWarmup());
  checks.require(!noam || warmup > 0, "rate.warmup", "a number above 0 with kind noam",
                 Checks::numberText(warmup));
  checks.require(warmup < 1 || warmup == std::floor(warmup), "rate.warmup",
                 "a number of steps, or a share of all steps below 1", Checks::numberText(warmup));
  if (recipe.steps && !noam)
    checks.require(warmup < static_cast<double>(*recipe.steps), "rate.warmup",
                   "fewer steps than all, " + std::to_string(*recipe.steps),
                   Checks::numberText(warmup));
}

} // namespace

std::optional<WordOrCount<Recipe::Keep>> heddle::keepOf(std::string_view text) {
  for (Recipe::Keep word : {Recipe::Keep::All, Recipe::Keep::Layers})
    if (text == wordOf(word))
      return WordOrCount<Recipe::Keep>{word, {}};
  int64_t count = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failure != std::errc() || end != text.data() + text.size() || count < 0)
    return std::nullopt;
  return WordOrCount<Recipe::Keep>{{}, count};
}

std::optional<RecipeProblem> heddle::problemOf(const Recipe &recipe) {
  Checks checks;
  checkLength(recipe, checks);
  checkOptimizer(recipe.optimizer, checks);
  checkRate(recipe, checks);
  checks.share("loss.smoothing", recipe.loss.smoothing);
  visitFields(recipe.dropout, [&](const std::string &place, double probability) {
    checks.share("dropout." + place, probability);
  });
  checks.positive("initial.gain", recipe.initial.gain);
  for (const std::string &name : recipe.frozen)
    checks.require(!name.empty(), "frozen", "names of tensors or their beginnings",
                   "an empty name");
  return checks.first;
}
