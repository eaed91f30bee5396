//===- ReferenceGradients.cpp - The backward pass in f64 ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of the gradient ops as loops in f64, and the sums that they add
// to the gradients of weights.

#include "ReferenceDropout.h"
#include "ReferenceScores.h"

#include "heddle/Support/Try.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle::reference {

//===- Elementwise -------------------------------------------------------===//

static RefTensor meaning(ActivationOp op, const Lookup &get) {
  RefTensor result = get(op.getInput());
  for (double &value : result.values)
    value = activate(op.getActivation(), value);
  return result;
}

static RefTensor meaning(ActivationGradientOp op, const Lookup &get) {
  RefTensor result = get(op.getGradient());
  const RefTensor &input = get(op.getInput());
  for (int64_t n = 0; n < result.size(); ++n)
    result.values[n] *= op.getOfResult() ? slopeOfResult(op.getActivation(), input.values[n])
                                         : slopeOf(op.getActivation(), input.values[n]);
  return result;
}

static RefTensor meaning(GateGradientOp op, const Lookup &get) {
  RefTensor result = get(op.getGradient());
  const RefTensor &gate = get(op.getGate()), &input = get(op.getInput());
  const double limit = op.getLimit() ? op.getLimit()->convertToDouble() : INFINITY;
  const double offset = op.getOffset().convertToDouble();
  for (int64_t n = 0; n < result.size(); ++n) {
    const double g = gate.values[n], u = input.values[n];
    const bool isBeyond = op.getOfGate() ? g > limit : std::fabs(u) > limit;
    if (isBeyond)
      result.values[n] = 0; // also of an infinite gradient
    else if (op.getOfGate())
      result.values[n] *= slopeOf(op.getActivation(), g) * (std::clamp(u, -limit, limit) + offset);
    else
      result.values[n] *= activate(op.getActivation(), g > limit ? limit : g);
  }
  return result;
}

static RefTensor meaning(SoftcapGradientOp op, const Lookup &get) {
  RefTensor result = get(op.getGradient());
  const RefTensor &capped = get(op.getCapped());
  double cap = op.getCap().convertToFloat();
  for (int64_t n = 0; n < result.size(); ++n)
    result.values[n] *= 1 - capped.values[n] / cap * (capped.values[n] / cap);
  return result;
}

static RefTensor transposed(const RefTensor &matrix) {
  const int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  RefTensor result = make({columns, rows});
  for (int64_t i = 0; i < rows * columns; ++i)
    result.values[i % columns * rows + i / columns] = matrix.values[i];
  return result;
}

static RefTensor meaning(TransposeOp op, const Lookup &get) {
  return transposed(get(op.getWeight()));
}

static RefTensor meaning(LinearTransposedOp op, const Lookup &get) {
  return linear(get(op.getInput()), transposed(get(op.getWeight())), nullptr, Activation::None);
}

//===- Dropout -----------------------------------------------------------===//

static RefTensor meaning(DropoutOp op, const Lookup &get) {
  RefTensor result = get(op.getInput());
  if (!op.getKey())
    return result;
  const RefTensor &rows = get(op.getRows());
  const Dropout dropout(get(op.getKey()), get(op.getSite()), op.getProbability().convertToDouble());
  int64_t features = result.shape.back();
  for (int64_t n = 0; n < result.size(); ++n) {
    int64_t row = n / features;
    result.values[n] *= dropout.factor(n % features, static_cast<int64_t>(rows.values[2 * row + 1]),
                                       static_cast<int64_t>(rows.values[2 * row]));
  }
  return result;
}

static RefTensor meaning(RowNumbersOp op, const Lookup &get) {
  const RefTensor &examples = get(op.getExamples());
  const RefTensor *starts = op.getDocuments() ? &get(op.getDocuments()) : nullptr;
  std::vector<int64_t> shape = get(op.getLike()).shape;
  shape.back() = 2;
  RefTensor result = make(shape, DType::I32);
  int64_t rows = shape.size() == 3 ? shape[1] : 1, all = rowCount(result);
  for (int64_t row = 0; row < all; ++row) {
    int64_t number = row / rows, first = number * rows;
    for (int64_t d = 0; starts && d + 1 < starts->size(); ++d)
      if (starts->values[d] <= static_cast<double>(row)) {
        number = d;
        first = static_cast<int64_t>(starts->values[d]);
      }
    result.values[2 * row] = examples.values[number];
    result.values[2 * row + 1] = static_cast<double>(row - first);
  }
  return result;
}

//===- Rows --------------------------------------------------------------===//

namespace {
/// A row before gamma is applied, and the factor of its centered values.
struct NormalizedRow {
  std::vector<double> values;
  double factor = 1;
  bool isScaled = true; ///< whether the factor depends on the row
};
} // namespace

static NormalizedRow normalizedRow(Normalization kind, ArrayRef<double> x, double epsilon) {
  NormalizedRow row;
  row.values.assign(x.begin(), x.end());
  auto features = static_cast<double>(x.size());
  bool centers = kind == Normalization::Layer || kind == Normalization::Variance;
  double mean = centers ? llvm::accumulate(x, 0.0) / features : 0, squares = 0;
  for (double &value : row.values) {
    value -= mean;
    squares += value * value;
  }
  switch (kind) {
  case Normalization::Layer:
  case Normalization::RootMeanSquare:
    row.factor = 1 / std::sqrt(squares / features + epsilon);
    break;
  case Normalization::Variance:
    row.factor = 1 / (squares / features + epsilon);
    break;
  case Normalization::Length:
    row.factor = 1 / std::max(std::sqrt(squares), epsilon);
    row.isScaled = std::sqrt(squares) > epsilon;
    break;
  }
  for (double &value : row.values)
    value *= row.factor;
  return row;
}

/// The gradient of a row's input from g, the gradient of the normalized row.
static void differentiateRow(Normalization kind, const NormalizedRow &row, ArrayRef<double> g,
                             MutableArrayRef<double> result) {
  auto features = static_cast<double>(g.size());
  double sum = llvm::accumulate(g, 0.0), product = 0;
  for (auto [x, gradient] : llvm::zip_equal(row.values, g))
    product += x * gradient;
  for (auto [x, gradient, out] : llvm::zip_equal(row.values, g, result))
    switch (kind) {
    case Normalization::Layer:
      out = row.factor * (gradient - sum / features - x * product / features);
      break;
    case Normalization::Variance:
      out = row.factor * (gradient - sum / features - 2 * x * product / row.factor / features);
      break;
    case Normalization::RootMeanSquare:
      out = row.factor * (gradient - x * product / features);
      break;
    case Normalization::Length:
      out = row.factor * (gradient - (row.isScaled ? x * product : 0));
      break;
    }
}

static std::vector<RefTensor> meaning(NormGradientOp op, const Lookup &get) {
  const RefTensor &gradient = get(op.getGradient()), &input = get(op.getInput());
  const RefTensor *gamma = op.getGamma() ? &get(op.getGamma()) : nullptr;
  RefTensor result = input, scaled = gradient;
  size_t features = input.shape.back();
  for (int64_t n = 0; n < rowCount(input); ++n) {
    NormalizedRow row =
        normalizedRow(op.getKind(), ArrayRef(input.values).slice(n * features, features),
                      op.getEpsilon().convertToFloat());
    std::vector<double> g(gradient.values.begin() + n * features,
                          gradient.values.begin() + (n + 1) * features);
    for (size_t e = 0; e < features; ++e) {
      scaled.values[n * features + e] = g[e] * row.values[e];
      g[e] *= gamma ? gamma->values[weightsOf(*gamma, input, n) + e] : 1;
    }
    differentiateRow(op.getKind(), row, g,
                     MutableArrayRef(result.values).slice(n * features, features));
  }
  return {std::move(result), std::move(scaled)};
}

/// The gradient of each of `values`, which are pooled to one number whose gradient is 1.
static std::vector<double> pooledGradient(Pooling kind, ArrayRef<double> values) {
  std::vector<double> result(values.size(), 0.0);
  auto count = static_cast<double>(values.size());
  if (values.empty())
    return result;
  switch (kind) {
  case Pooling::Cls:
    result.front() = 1;
    break;
  case Pooling::Last:
    result.back() = 1;
    break;
  case Pooling::Max:
    result[std::max_element(values.begin(), values.end()) - values.begin()] = 1;
    break;
  case Pooling::Mean:
    std::ranges::fill(result, 1 / count);
    break;
  case Pooling::Sum:
    std::ranges::fill(result, 1);
    break;
  case Pooling::MeanSqrt:
    std::ranges::fill(result, 1 / std::sqrt(count));
    break;
  case Pooling::WeightedMean:
    for (auto [row, value] : llvm::enumerate(result))
      value = static_cast<double>(row + 1) / (count * (count + 1) / 2);
    break;
  }
  return result;
}

static RefTensor meaning(PoolGradientOp op, const Lookup &get) {
  const RefTensor &gradient = get(op.getGradient()), &input = get(op.getInput());
  const RefTensor *lengths = op.getLengths() ? &get(op.getLengths()) : nullptr,
                  *starts = op.getDocuments() ? &get(op.getDocuments()) : nullptr;
  int64_t rows = input.shape[1], features = input.shape[2];
  SmallVector<PoolingAttr> kinds(op.getKinds().getAsRange<PoolingAttr>());
  RefTensor result = make(input.shape);
  for (int64_t n = 0; n < gradient.shape[0]; ++n) {
    int64_t first = starts ? static_cast<int64_t>(starts->values[n]) : n * rows;
    int64_t length = starts    ? static_cast<int64_t>(starts->values[n + 1]) - first
                     : lengths ? static_cast<int64_t>(lengths->values[n])
                               : rows;
    for (int64_t e = 0; e < features; ++e)
      for (auto [k, kind] : llvm::enumerate(kinds)) {
        std::vector<double> values;
        for (int64_t row = 0; row < length; ++row)
          values.push_back(input.values[(first + row) * features + e]);
        double factor =
            gradient.values[(n * static_cast<int64_t>(kinds.size()) + k) * features + e];
        for (auto [row, slope] : llvm::enumerate(pooledGradient(kind.getValue(), values)))
          result.values[(first + static_cast<int64_t>(row)) * features + e] += factor * slope;
      }
  }
  return result;
}

//===- Losses ------------------------------------------------------------===//

static std::vector<RefTensor> meaning(CrossEntropyGradientOp op, const Lookup &get) {
  const RefTensor &logits = get(op.getLogits()), &ids = get(op.getIds());
  double smoothing = op.getSmoothing().convertToDouble();
  RefTensor rows = crossEntropyRows(logits, ids, op.getPaddingId(), smoothing, op.getOver());
  RefTensor gradient = make(logits.shape);
  int64_t classes = logits.shape.back();
  for (int64_t row = 0; row < rowCount(logits); ++row) {
    if (rows.values[2 * row + 1] == 0)
      continue;
    std::vector<double> target = targetOf(classes, static_cast<int64_t>(ids.values[row]),
                                          op.getPaddingId(), smoothing, op.getOver());
    ArrayRef<double> x = ArrayRef(logits.values).slice(row * classes, classes);
    double largest = *std::max_element(x.begin(), x.end()), sum = 0;
    for (double value : x)
      sum += std::exp(value - largest);
    for (int64_t e = 0; e < classes; ++e)
      gradient.values[row * classes + e] = std::exp(x[e] - largest) / sum - target[e];
  }
  return {std::move(gradient), std::move(rows)};
}

static std::vector<RefTensor> meaning(CrossEntropySumOp op, const Lookup &get) {
  const RefTensor &rows = get(op.getRows());
  RefTensor sum = make({1}), count = make({1});
  for (int64_t row = 0; row < rowCount(rows); ++row) {
    sum.values[0] += rows.values[2 * row];
    count.values[0] += rows.values[2 * row + 1];
  }
  return {std::move(sum), std::move(count)};
}

//===- Attention ---------------------------------------------------------===//

namespace {
/// One pair of a query and a key in the backward pass.
struct PairGradient {
  int64_t query, key;   ///< numbers of the rows in their tensors
  double weight, score; ///< the weight after dropout, and the gradient of the score
};
} // namespace

static double productOf(const RefTensor &a, int64_t row, const RefTensor &b, int64_t other) {
  int64_t size = a.shape.back();
  double sum = 0;
  for (int64_t d = 0; d < size; ++d)
    sum += a.values[row * size + d] * b.values[other * size + d];
  return sum;
}

/// Calls `visit` with each pair that has a weight. `delta` returns the sum of a query's row.
template <typename Op>
static Status forEachPair(Op op, const Lookup &get, llvm::function_ref<double(int64_t)> delta,
                          llvm::function_ref<void(const PairGradient &)> visit) {
  Scores scores = HEDDLE_TRY(Scores::create(op, get));
  const RefTensor &maximum = get(op.getMaximum()), &sum = get(op.getSum()),
                  &gradient = get(op.getGradient()), &value = get(op.getValue());
  int64_t keyHeads = value.shape[1];
  const std::optional<Dropout> dropout = Dropout::of(op, get);
  forEachRow(scores, [&](const Sequence &sequence, int64_t h, int64_t i) {
    std::vector<double> row = scores.row(sequence, h, i);
    int64_t at = rowOf(scores, sequence, h, i);
    int64_t head = sequence.batch * keyHeads + h / (scores.heads / keyHeads);
    for (int64_t j = 0; j < sequence.keys && sum.values[at] != 0; ++j) {
      if (row[j] == -infinity)
        continue;
      PairGradient pair{at, head * scores.keys + sequence.firstKey + j, 0, 0};
      pair.weight = std::exp2(row[j] * std::numbers::log2e - maximum.values[at]) / sum.values[at];
      double kept =
          dropout ? dropout->factor(j, i, exampleOf(get(op.getExamples()), scores, sequence, h))
                  : 1;
      double ofWeight = kept * productOf(gradient, at, value, pair.key);
      pair.score = pair.weight * (ofWeight - delta(at)) * scores.slope(sequence, h, i, j);
      pair.weight *= kept;
      visit(pair);
    }
  });
  return {};
}

/// Adds `factor` times a row of `from` to a row of `to`.
static void addRow(RefTensor &to, int64_t row, double factor, const RefTensor &from,
                   int64_t other) {
  int64_t size = to.shape.back();
  for (int64_t d = 0; d < size; ++d)
    to.values[row * size + d] += factor * from.values[other * size + d];
}

static Expected<std::vector<RefTensor>> meaning(AttentionQueryGradientOp op, const Lookup &get) {
  const RefTensor &query = get(op.getQuery()), &key = get(op.getKey()),
                  &gradient = get(op.getGradient()), &output = get(op.getOutput());
  double scale = op.getScale().convertToFloat();
  RefTensor result = make(query.shape), delta = make(get(op.getMaximum()).shape);
  for (int64_t row = 0; row < delta.size(); ++row)
    delta.values[row] = productOf(gradient, row, output, row);
  HEDDLE_TRY(forEachPair(
      op, get, [&](int64_t row) { return delta.values[row]; },
      [&](const PairGradient &pair) {
        addRow(result, pair.query, scale * pair.score, key, pair.key);
      }));
  return std::vector{std::move(result), std::move(delta)};
}

static Expected<std::vector<RefTensor>> meaning(AttentionKeyGradientOp op, const Lookup &get) {
  const RefTensor &query = get(op.getQuery()), &gradient = get(op.getGradient()),
                  &delta = get(op.getDelta());
  double scale = op.getScale().convertToFloat();
  RefTensor ofKeys = make(get(op.getKey()).shape), ofValues = make(get(op.getValue()).shape);
  HEDDLE_TRY(forEachPair(
      op, get, [&](int64_t row) { return delta.values[row]; },
      [&](const PairGradient &pair) {
        addRow(ofKeys, pair.key, scale * pair.score, query, pair.query);
        addRow(ofValues, pair.key, pair.weight, gradient, pair.query);
      }));
  return std::vector{std::move(ofKeys), std::move(ofValues)};
}

//===- Gradients of weights ----------------------------------------------===//

static void add(GradientProductOp op, const Lookup &get, RefTensor &sum) {
  const RefTensor &gradient = get(op.getGradient()), &input = get(op.getInput());
  int64_t rows = sum.shape[0], columns = sum.shape[1];
  for (int64_t m = 0; m < rowCount(gradient); ++m)
    for (int64_t n = 0; n < rows; ++n)
      for (int64_t k = 0; k < columns; ++k)
        sum.values[n * columns + k] +=
            gradient.values[m * rows + n] * input.values[m * columns + k];
}

static void add(GradientColumnsOp op, const Lookup &get, RefTensor &sum) {
  const RefTensor &gradient = get(op.getGradient());
  int64_t columns = sum.shape.back();
  for (int64_t m = 0; m < rowCount(gradient); ++m)
    for (int64_t n = 0; n < columns; ++n)
      sum.values[weightsOf(sum, gradient, m) + n] += gradient.values[m * columns + n];
}

static void add(GradientRowsOp op, const Lookup &get, RefTensor &sum) {
  const RefTensor &gradient = get(op.getGradient()), &ids = get(op.getIds());
  for (int64_t m = 0; m < rowCount(gradient); ++m) {
    auto id = static_cast<int64_t>(ids.values[m]);
    if (!op.getPaddingId() || static_cast<int64_t>(*op.getPaddingId()) != id)
      addRow(sum, id, op.getScale().convertToFloat(), gradient, m);
  }
}

static void add(GradientPositionsOp op, const Lookup &get, RefTensor &sum) {
  const RefTensor &gradient = get(op.getGradient());
  const RefTensor *starts = op.getDocuments() ? &get(op.getDocuments()) : nullptr;
  int64_t rows = gradient.shape[1];
  for (int64_t m = 0; m < rowCount(gradient); ++m) {
    int64_t first = m / rows * rows;
    if (starts)
      for (double start : starts->values)
        first = start <= static_cast<double>(m) ? static_cast<int64_t>(start) : first;
    addRow(sum, m - first, op.getScale().convertToFloat(), gradient, m);
  }
}

std::vector<int64_t> shapeOf(WeightGradientOpInterface op, const Lookup &get) {
  return llvm::TypeSwitch<Operation *, std::vector<int64_t>>(op)
      .Case([&](GradientProductOp product) {
        return std::vector{get(product.getGradient()).shape.back(),
                           get(product.getInput()).shape.back()};
      })
      .Case([&](GradientColumnsOp columns) {
        const std::vector<int64_t> &shape = get(columns.getGradient()).shape;
        return columns.getOfHeads() ? std::vector{shape[1], shape[3]} : std::vector{shape.back()};
      })
      .Case<GradientRowsOp, GradientPositionsOp>([&](auto rows) {
        return std::vector{static_cast<int64_t>(rows.getSize()),
                           get(rows.getGradient()).shape.back()};
      });
}

void addGradient(WeightGradientOpInterface op, const Lookup &get, RefTensor &sum) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<GradientProductOp, GradientColumnsOp, GradientRowsOp, GradientPositionsOp>(
          [&](auto known) { add(known, get, sum); });
}

//===- Dispatch ----------------------------------------------------------===//

using Results = Expected<std::vector<RefTensor>>;

static Results asResults(Results results) { return results; }
static Results asResults(RefTensor result) { return std::vector<RefTensor>{std::move(result)}; }

std::optional<Results> gradientsOf(Operation *op, const Lookup &get) {
  return llvm::TypeSwitch<Operation *, std::optional<Results>>(op)
      .Case<ActivationOp, ActivationGradientOp, GateGradientOp, SoftcapGradientOp,
            LinearTransposedOp, TransposeOp, DropoutOp, RowNumbersOp, NormGradientOp,
            PoolGradientOp, CrossEntropyGradientOp, CrossEntropySumOp, AttentionQueryGradientOp,
            AttentionKeyGradientOp>(
          [&](auto known) { return std::optional<Results>(asResults(meaning(known, get))); })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace heddle::reference
