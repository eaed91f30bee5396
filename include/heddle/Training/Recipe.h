//===- Recipe.h - How a model is trained -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The section `training` of a model description (docs/model-description.md). Fields have the names
// and defaults of its keys. Inference ignores a recipe. A compiled file carries it as JSON.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/Fields.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A word, or a count in its place.
template <typename Word>
struct WordOrCount {
  Word word{};
  std::optional<int64_t> count;
  static constexpr bool isWordOrCount = true; ///< JSON: a string or a number
  bool operator==(const WordOrCount &) const = default;
};

/// Division of the examples into batches.
struct BatchRecipe {
  HEDDLE_ENUM(friend, Order,
              Alike,                   ///< examples of similar length share a batch
              Random,                  ///< a permutation of the examples
              File)                    ///< the order of the files
  std::optional<int64_t> rows, tokens; ///< maximum of a batch; neither: `usualRows`
  Order order = Order::Alike;
  static constexpr int64_t usualRows = 32;
  HEDDLE_FIELDS(0, rows, tokens, order)
};

/// The update of weights by gradients.
struct OptimizerRecipe {
  HEDDLE_ENUM(friend, Kind, Adam, Adamw, Sgd)
  Kind kind = Kind::Adam;
  std::array<double, 2> betas = {0.9, 0.98};
  double epsilon = 1e-9;
  double weightDecay = 0;     ///< Adamw only; norms and biases do not decay
  double momentum = 0;        ///< Sgd only
  std::optional<double> clip; ///< maximum norm of all gradients
  HEDDLE_FIELDS(0, kind, betas, epsilon, weightDecay, momentum, clip)
};

/// The learning rate of each step (Rate.h).
struct RateRecipe {
  HEDDLE_ENUM(friend, Kind, Noam, Cosine, Linear, Constant, OneCycle)
  Kind kind = Kind::Noam;
  std::optional<double> factor; ///< Noam only; none: 1
  std::optional<double> peak;   ///< all kinds but Noam, which require it
  std::optional<double> warmup; ///< steps; below 1: a share of all steps; none: `usualWarmup`
  std::optional<double> first;  ///< rate of the first step, OneCycle only; none: peak / 25
  std::optional<double> last;   ///< rate of the last step; none: 0, with OneCycle peak / 250,000
  /// beta1 at the peak, and in the first and the last step; OneCycle only.
  std::optional<std::array<double, 2>> beta1;
  double usualWarmup() const {
    return kind == Kind::Noam ? 4000 : kind == Kind::OneCycle ? 0.3 : 0;
  }
  HEDDLE_FIELDS(0, kind, factor, peak, warmup, first, last, beta1)
};

struct LossRecipe {
  HEDDLE_ENUM(friend, Over, All, Others, OthersButPadding)
  HEDDLE_ENUM(friend, Reduce,
              Mean, ///< the sum of the losses is divided by the number of scored tokens
              Sum)
  double smoothing = 0;
  Over over = Over::All;
  Reduce reduce = Reduce::Mean;
  HEDDLE_FIELDS(0, smoothing, over, reduce)
};

/// Probabilities with which numbers are dropped, by place.
struct DropoutRecipe {
  double embedding = 0, attention = 0, ffn = 0, sublayer = 0, classifier = 0;
  double words = 0; ///< words of the input that the unknown word replaces
  HEDDLE_FIELDS(0, embedding, attention, ffn, sublayer, classifier, words)
};

/// Initial weights (Initial.h).
struct InitialRecipe {
  HEDDLE_ENUM(friend, From,
              Seed,    ///< random weights of the recipe's seed
              Weights) ///< the weights of the model
  HEDDLE_ENUM(friend, Kind, XavierUniform, XavierNormal, Normal)
  From from = From::Seed;
  Kind matrices = Kind::XavierUniform, tables = Kind::XavierUniform;
  double gain = 1;
  HEDDLE_FIELDS(0, from, matrices, tables, gain)
};

/// The measure of the validation data, by which the best weights are chosen.
struct MeasureRecipe {
  HEDDLE_ENUM(friend, Kind,
              Loss,     ///< the mean loss
              Accuracy, ///< share of right classes, or of right tokens after the right ones
              Exact)    ///< share of texts that greedy decoding answers word for word
  HEDDLE_ENUM(friend, Every, Epoch)
  Kind kind = Kind::Loss;
  std::optional<int64_t> rows; ///< examples that are measured; none: all
  WordOrCount<Every> every;    ///< or a number of steps
  /// Whether numbers of the two measures may be compared. `every` changes no number.
  bool isComparableTo(const MeasureRecipe &other) const {
    return kind == other.kind && rows == other.rows;
  }
  HEDDLE_FIELDS(0, kind, rows, every)
};

struct Recipe {
  HEDDLE_ENUM(friend, Type, F32)
  HEDDLE_ENUM(friend, Keep,
              All,                      ///< every value that a gradient reads and that costs much
              Layers)                   ///< the input of each layer; the others are computed again
  std::optional<int64_t> epochs, steps; ///< neither: `usualEpochs`
  BatchRecipe batch;
  int64_t seed = 0;
  Type dtype = Type::F32;
  WordOrCount<Keep> keep; ///< or the number of layers that keep all values
  OptimizerRecipe optimizer;
  RateRecipe rate;
  LossRecipe loss;
  DropoutRecipe dropout;
  InitialRecipe initial;
  std::vector<std::string> frozen; ///< weights that do not change (`isNamedBy`)
  MeasureRecipe measure;
  static constexpr int64_t usualEpochs = 10;
  /// Number of layers that keep all values; none: all layers.
  std::optional<int64_t> keptLayers() const {
    return keep.count               ? keep.count
           : keep.word == Keep::All ? std::nullopt
                                    : std::optional<int64_t>(0);
  }
  HEDDLE_FIELDS(0, epochs, steps, batch, seed, dtype, keep, optimizer, rate, loss, dropout, initial,
                frozen, measure)
};

/// A value of a recipe that is out of range or contradicts another value.
struct RecipeProblem {
  std::string key; ///< "rate.peak"
  std::string expected, found;
};

/// The first problem of a recipe, if it has one.
std::optional<RecipeProblem> problemOf(const Recipe &recipe);

/// JSON of a recipe. Fields with their default value are left out.
std::string toJson(const Recipe &recipe);
/// Reads the result of toJson, or the section of a description. A key that is missing or null has
/// its default. Errors begin with `place` and the key. Values are checked by `problemOf`.
Expected<Recipe> recipeFromJson(std::string_view json, const std::string &place);

/// The value of `keep` in a text: "all", "layers" or a number. Other texts have none.
std::optional<WordOrCount<Recipe::Keep>> keepOf(std::string_view text);

/// True if an entry of `frozen` is the name of a tensor, or its beginning up to a dot: `encoder.0`
/// freezes `encoder.0.ffn.in.weight`.
bool isNamedBy(std::string_view entry, std::string_view tensor);

} // namespace heddle
