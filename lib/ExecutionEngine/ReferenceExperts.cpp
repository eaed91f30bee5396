//===- ReferenceExperts.cpp - Reference of mixtures of experts ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of routers and experts as loops in f64.

#include "ReferenceOps.h"

#include "heddle/Support/Try.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle::reference {

using Tensors = std::vector<RefTensor>;

/// Scores of the experts of a row.
static std::vector<double> scoresOf(llvm::ArrayRef<double> logits, RouterScore score) {
  std::vector<double> scores(logits.begin(), logits.end());
  if (score == RouterScore::Sigmoid) {
    for (double &x : scores)
      x = activate(Activation::Sigmoid, x);
    return scores;
  }
  const double largest = *llvm::max_element(scores);
  double sum = 0;
  for (double &x : scores)
    sum += x = std::exp(x - largest);
  for (double &x : scores)
    x /= sum;
  return scores;
}

/// Below all numbers, as NaN and minus infinity are ordered. The sum of two is finite.
static constexpr double least = std::numeric_limits<double>::lowest() / 4;

/// Excludes the experts of groups that are not used: they are ordered by minus infinity.
static void closeGroups(RouteOp op, std::vector<double> &order) {
  const auto groups = static_cast<int64_t>(op.getGroups()),
             used = static_cast<int64_t>(op.getUsedGroups());
  const auto size = static_cast<int64_t>(order.size()) / groups;
  std::vector<double> scores;
  for (int64_t g = 0; g < groups; ++g) {
    std::vector<double> own(order.begin() + g * size, order.begin() + (g + 1) * size);
    llvm::sort(own, std::greater<>());
    scores.push_back(own[0] + (size > 1 ? own[1] : 0));
  }
  for (int64_t g = 0; g < groups; ++g) {
    const auto before = llvm::count_if(llvm::seq(groups), [&](int64_t h) {
      return scores[h] > scores[g] || (scores[h] == scores[g] && h < g);
    });
    if (before >= used)
      std::fill_n(order.begin() + g * size, size, -std::numeric_limits<double>::infinity());
  }
}

/// Numbers of the chosen experts, ascending.
static std::vector<int64_t> chosen(llvm::ArrayRef<double> order, int64_t count) {
  std::vector<int64_t> experts(order.size());
  std::iota(experts.begin(), experts.end(), 0);
  llvm::stable_sort(experts, [&](int64_t a, int64_t b) { return order[a] > order[b]; });
  experts.resize(count);
  llvm::sort(experts);
  return experts;
}

/// Weights of the chosen experts of a sparse mixer, by rounds that each choose one expert and remove
/// it. Logits that are not finite are ordered as `order` has them.
static std::vector<double> mixed(llvm::ArrayRef<double> logits, std::vector<double> order,
                                 llvm::ArrayRef<int64_t> best, double jitter) {
  std::vector<double> weights(best.size());
  std::vector<bool> removed(logits.size());
  for (size_t round = 0; round < best.size(); ++round) {
    const auto own = std::distance(order.begin(), llvm::max_element(order));
    const double largest = logits[own];
    double sum = 0;
    for (auto [e, x] : llvm::enumerate(logits))
      if (!removed[e] && !(largest - x > 2 * jitter * std::max(std::abs(x), largest)))
        sum += std::exp(x - largest);
    weights[std::distance(best.begin(), llvm::find(best, own))] = 1 / sum;
    removed[own] = true;
    order[own] = -std::numeric_limits<double>::infinity();
  }
  return weights;
}

/// The softmax or sigmoid scores of the chosen experts of a row.
static std::vector<double> weightsOf(RouteOp op, llvm::ArrayRef<double> scores,
                                     llvm::ArrayRef<int64_t> best) {
  std::vector<double> weights;
  double divisor = 0;
  for (int64_t e : best) {
    weights.push_back(scores[e]);
    divisor += scores[e];
  }
  divisor = divisor < 1e-20 ? 1e-20 : divisor;
  for (double &weight : weights)
    weight = op.getNormalise() ? weight / divisor : weight;
  return weights;
}

static Expected<Tensors> meaning(RouteOp op, const Lookup &get) {
  const RefTensor &logits = get(op.getLogits()), *correction = optional(op.getCorrection(), get);
  const int64_t rows = rowCount(logits), experts = logits.shape.back(),
                count = static_cast<int64_t>(op.getCount());
  RefTensor numbers = make({count, rows}, DType::I32), weights = make({count, rows});
  for (int64_t n = 0; n < rows; ++n) {
    const llvm::ArrayRef<double> row(logits.values.data() + n * experts, experts);
    const std::vector<double> scores = scoresOf(row, op.getScore());
    const bool mixes = op.getScore() == RouterScore::SparseMixer;
    // Scores of softmax have the order of the logits, which are not rounded.
    const bool isByLogits =
        mixes || (op.getScore() == RouterScore::Softmax && !correction && op.getGroups() == 1);
    std::vector<double> order = isByLogits ? row.vec() : scores;
    for (int64_t e = 0; correction && e < experts; ++e)
      order[e] += correction->values[e];
    for (double &x : order)
      x = x > least ? x : least;
    if (op.getGroups() > 1)
      closeGroups(op, order);
    const std::vector<int64_t> best = chosen(order, count);
    const std::vector<double> chosenWeights =
        mixes ? mixed(row, order, best, op.getJitter().convertToDouble())
              : weightsOf(op, scores, best);
    for (auto [j, e] : llvm::enumerate(best)) {
      numbers.values[j * rows + n] = static_cast<double>(e);
      weights.values[j * rows + n] = chosenWeights[j] * op.getScale().convertToDouble();
    }
  }
  return Tensors{std::move(numbers), std::move(weights)};
}

static Expected<Tensors> meaning(ExpertCountsOp op, const Lookup &get) {
  RefTensor counts = make({op.getCounts().getType().getShape()[0]}, DType::I32);
  for (double expert : get(op.getExperts()).values)
    if (expert >= 0 && expert < static_cast<double>(counts.size()))
      ++counts.values[static_cast<size_t>(expert)];
  return Tensors{std::move(counts)};
}

static Expected<Tensors> meaning(ExpertStartsOp op, const Lookup &get) {
  const RefTensor &counts = get(op.getCounts());
  const int64_t experts = counts.size();
  RefTensor starts = make({experts + 1}, DType::I32), numbers = make({experts}, DType::I32);
  int64_t place = 0;
  double rows = 0;
  for (const bool hasRows : {true, false})
    for (int64_t e = 0; e < experts; ++e) {
      if ((counts.values[e] > 0) != hasRows)
        continue;
      starts.values[place] = rows;
      numbers.values[place++] = static_cast<double>(e);
      rows += counts.values[e];
    }
  starts.values[experts] = rows;
  return Tensors{std::move(starts), std::move(numbers)};
}

static Expected<Tensors> meaning(ExpertPlacesOp op, const Lookup &get) {
  RefTensor places = get(op.getExperts());
  std::vector<int64_t> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order,
                    [&](int64_t a, int64_t b) { return places.values[a] < places.values[b]; });
  for (auto [place, element] : llvm::enumerate(order))
    places.values[element] = static_cast<double>(place);
  return Tensors{std::move(places)};
}

static Expected<Tensors> meaning(ExpertRowsOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput()), &places = get(op.getPlaces());
  const int64_t features = input.shape.back(), rows = rowCount(input);
  RefTensor result = make({places.size(), features});
  for (int64_t n = 0; n < places.size(); ++n)
    std::copy_n(input.values.begin() + n % rows * features, features,
                result.values.begin() + static_cast<int64_t>(places.values[n]) * features);
  return Tensors{std::move(result)};
}

static Expected<Tensors> meaning(ExpertSumOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput()), &places = get(op.getPlaces()),
                  &weights = get(op.getWeights());
  const int64_t features = input.shape.back(), rows = places.shape[1];
  std::vector<int64_t> shape = get(op.getLike()).shape;
  shape.back() = features;
  RefTensor result = make(shape);
  for (int64_t n = 0; n < places.size(); ++n)
    for (int64_t e = 0; e < features; ++e)
      result.values[n % rows * features + e] +=
          weights.values[n] * input.values[static_cast<int64_t>(places.values[n]) * features + e];
  return Tensors{std::move(result)};
}

static Expected<Tensors> meaning(ScaleRowsOp op, const Lookup &get) {
  RefTensor result = get(op.getInput());
  const int64_t features = result.shape.back();
  for (int64_t n = 0; n < result.size(); ++n)
    result.values[n] *= get(op.getFactors()).values[n / features];
  return Tensors{std::move(result)};
}

/// Part `number` of a tensor whose first dimension stacks `count` parts.
static std::optional<RefTensor> partOf(const RefTensor *stacked, int64_t number, int64_t count) {
  if (!stacked)
    return std::nullopt;
  std::vector<int64_t> shape = stacked->shape;
  shape[0] /= count;
  RefTensor part = make(shape);
  std::copy_n(stacked->values.begin() + number * part.size(), part.size(), part.values.begin());
  return part;
}

static Expected<Tensors> meaning(ExpertsOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput()), &experts = get(op.getExperts()),
                  &weights = get(op.getWeights());
  const int64_t rows = experts.shape[1], count = static_cast<int64_t>(op.getCount());
  const int64_t features = op.getType().getShape().back();
  std::vector<int64_t> shape = input.shape;
  shape.back() = features;
  RefTensor result = make(shape);
  for (int64_t n = 0; n < experts.size(); ++n) {
    const auto expert = static_cast<int64_t>(experts.values[n]);
    if (expert < 0 || expert >= count)
      return errorAt(op, "expected experts in [0, " + std::to_string(count) + "), found " +
                             std::to_string(expert));
    auto linearOf = [&](const RefTensor &x, Value matrix, Value bias, Activation activation) {
      const std::optional<RefTensor> vector = partOf(optional(bias, get), expert, count);
      return linear(x, *partOf(&get(matrix), expert, count), vector ? &*vector : nullptr,
                    activation);
    };
    RefTensor row = *partOf(&input, n % rows, rows);
    Value gate = op.getGateWeight();
    RefTensor hidden = linearOf(row, op.getInWeight(), op.getInBias(),
                                gate ? Activation::None : op.getActivation());
    if (gate)
      applyGate(op, linearOf(row, gate, op.getGateBias(), Activation::None), hidden);
    const RefTensor term = linearOf(hidden, op.getOutWeight(), op.getOutBias(), Activation::None);
    for (int64_t e = 0; e < features; ++e)
      result.values[n % rows * features + e] += weights.values[n] * term.values[e];
  }
  return Tensors{std::move(result)};
}

std::optional<Expected<Tensors>> expertsOf(Operation *op, const Lookup &get) {
  return llvm::TypeSwitch<Operation *, std::optional<Expected<Tensors>>>(op)
      .Case<RouteOp, ExpertsOp, ExpertCountsOp, ExpertStartsOp, ExpertPlacesOp, ExpertRowsOp,
            ExpertSumOp, ScaleRowsOp>([&](auto known) { return meaning(known, get); })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace heddle::reference
