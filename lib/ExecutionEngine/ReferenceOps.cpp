//===- ReferenceOps.cpp - Reference ops -----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of the op descriptions as loops in f64. Each op has a function from the values of
// its operands to its result.

#include "ReferenceOps.h"

#include "heddle/Support/Try.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle::reference {

int64_t elementCount(const std::vector<int64_t> &shape) {
  return llvm::product_of(shape, int64_t{1});
}

double activate(Activation activation, double x) {
  switch (activation) {
  case Activation::None:
    return x;
  case Activation::Relu:
    return x < 0 ? 0 : x; // NaN is kept
  case Activation::Gelu:
    return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
  case Activation::GeluTanh:
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  case Activation::QuickGelu:
    return x / (1 + std::exp(-1.702 * x));
  case Activation::Silu:
    return x / (1 + std::exp(-x));
  case Activation::Tanh:
    return std::tanh(x);
  case Activation::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case Activation::Relu2:
    return x < 0 ? 0 : x * x;
  case Activation::Relu6:
    return x < 0 ? 0 : x > 6 ? 6 : x;
  case Activation::HardSwish:
    return x * activate(Activation::Relu6, x + 3) / 6;
  case Activation::Mish:
    return x * std::tanh(x > 30 ? x : std::log1p(std::exp(x)));
  }
  llvm_unreachable("all activations are listed");
}

//===- Embeddings and positions ------------------------------------------===//

/// Rows of the table; the padding id gives a row of zeros.
static Expected<RefTensor> meaning(EmbeddingOp op, const Lookup &get) {
  const RefTensor &ids = get(op.getIds()),
                  table = decodedMatrix(get(op.getTable()), optional(op.getScales(), get));
  int64_t rows = table.shape[0], columns = table.shape[1];
  double scale = op.getScale().convertToFloat();
  std::vector<int64_t> shape = ids.shape;
  shape.push_back(columns);
  RefTensor result = make(shape);
  for (int64_t n = 0; n < ids.size(); ++n) {
    int64_t id = static_cast<int64_t>(ids.values[n]);
    if (id < 0 || id >= rows)
      return errorAt(op, "expected ids in [0, " + std::to_string(rows) + "), found " +
                             std::to_string(id));
    if (op.getPaddingId() && static_cast<int64_t>(*op.getPaddingId()) == id)
      continue;
    for (int64_t e = 0; e < columns; ++e)
      result.values[n * columns + e] = scale * table.values[id * columns + e];
  }
  return result;
}

/// Position of row t of sequence b: offset + t - start of the row's document. A document's start is
/// the last one that is at most t.
template <typename Op>
static int64_t positionOf(int64_t b, int64_t t, Op op, const Lookup &get) {
  double first = 0;
  if (const RefTensor *starts = optional(op.getDocuments(), get))
    for (double start : starts->values)
      if (start <= static_cast<double>(t))
        first = start;
  double offset = 0;
  if (op.getOffset()) {
    const RefTensor &offsets = get(op.getOffset());
    offset = offsets.values[offsets.shape.empty() ? 0 : b];
  }
  return static_cast<int64_t>(offset) + t - static_cast<int64_t>(first);
}

static Expected<RefTensor> meaning(PositionLearnedOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput()), &table = get(op.getTable());
  double scale = op.getScale().convertToFloat();
  RefTensor result = input;
  int64_t rows = input.shape[1], columns = input.shape[2];
  for (int64_t n = 0; n < input.size(); ++n) {
    int64_t position = positionOf(n / columns / rows, n / columns % rows, op, get);
    if (position >= table.shape[0])
      return errorAt(op, "expected positions below " + std::to_string(table.shape[0]) + ", found " +
                             std::to_string(position));
    result.values[n] += scale * table.values[position * columns + n % columns];
  }
  return result;
}

static RefTensor meaning(PositionSinusoidalOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput());
  double scale = op.getScale().convertToFloat();
  RefTensor result = input;
  int64_t rows = input.shape[1], columns = input.shape[2];
  for (int64_t n = 0; n < input.size(); ++n) {
    int64_t e = n % columns;
    double angle =
        static_cast<double>(positionOf(n / columns / rows, n / columns % rows, op, get)) /
        std::pow(10000.0, static_cast<double>(e / 2 * 2) / columns);
    result.values[n] += scale * (e % 2 == 0 ? std::sin(angle) : std::cos(angle));
  }
  return result;
}

static RefTensor meaning(RotaryOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput());
  int64_t heads = input.shape[1], rows = input.shape[2], features = input.shape[3];
  auto half = static_cast<int64_t>(op.getFraction().convertToDouble() * features) / 2;
  RefTensor result = input;
  for (int64_t n = 0; n < input.size(); ++n) {
    int64_t e = n % features;
    if (e >= 2 * half)
      continue;
    auto position =
        static_cast<double>(positionOf(n / features / rows / heads, n / features % rows, op, get));
    double frequency = op.getFrequencies() ? (*op.getFrequencies())[e % half]
                                           : std::pow(op.getBase().convertToDouble(),
                                                      -static_cast<double>(e % half) / half) /
                                                 op.getFactor().convertToDouble();
    double angle = position * frequency;
    if (op.getInverse())
      angle = -angle;
    double other = e < half ? -input.values[n + half] : input.values[n - half];
    result.values[n] = op.getMagnitude().convertToDouble() *
                       (input.values[n] * std::cos(angle) + other * std::sin(angle));
  }
  return result;
}

//===- Products ----------------------------------------------------------===//

/// Keeps the columns of each row's group: `rows` are the products with the matrices of all groups.
static RefTensor ofGroups(LinearOp op, const RefTensor &rows, const Lookup &get) {
  const RefTensor &starts = get(op.getStarts()), &numbers = get(op.getNumbers());
  const int64_t columns = rows.shape[1] / op.getGroups();
  RefTensor result = make({rows.shape[0], columns});
  for (int64_t c = 0; c < numbers.size(); ++c) {
    const auto group = static_cast<int64_t>(numbers.values[c]);
    const auto end = static_cast<int64_t>(starts.values[c + 1]);
    for (auto row = static_cast<int64_t>(starts.values[c]); row < end; ++row)
      std::copy_n(rows.values.begin() + row * rows.shape[1] + group * columns, columns,
                  result.values.begin() + row * columns);
  }
  return result;
}

static RefTensor meaning(LinearOp op, const Lookup &get) {
  RefTensor rows =
      linear(decodedRows(op.getFormat(), get(op.getInput()), optional(op.getInputScales(), get)),
             decodedMatrix(get(op.getWeight()), optional(op.getWeightScales(), get)),
             optional(op.getBias(), get), op.getActivation());
  return op.getStarts() ? ofGroups(op, rows, get) : rows;
}

static RefTensor meaning(HeadProductsOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput()), &weight = get(op.getWeight());
  int64_t heads = input.shape[1], rows = input.shape[2], features = input.shape[3];
  int64_t products = weight.shape[0] / heads;
  double scale = op.getScale().convertToFloat();
  RefTensor result = make({input.shape[0], heads, rows, products});
  for (int64_t n = 0; n < result.size(); ++n) {
    int64_t row = n / products, head = row / rows % heads;
    const double *x = input.values.data() + row * features;
    const double *w = weight.values.data() + (head * products + n % products) * features;
    result.values[n] = scale * std::inner_product(x, x + features, w, 0.0);
  }
  return result;
}

static RefTensor meaning(Conv1x1Op op, const Lookup &get) {
  return linear(get(op.getInput()), get(op.getWeight()), optional(op.getBias(), get),
                op.getActivation());
}

static RefTensor meaning(FfnOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput());
  Value gate = op.getGateWeight();
  RefTensor hidden = linear(input, get(op.getInWeight()), optional(op.getInBias(), get),
                            gate ? Activation::None : op.getActivation());
  if (gate)
    applyGate(op, linear(input, get(gate), optional(op.getGateBias(), get), Activation::None),
              hidden);
  hidden = roundedTo(*elementType(op.getInput().getType()), std::move(hidden));
  return linear(hidden, get(op.getOutWeight()), optional(op.getOutBias(), get), Activation::None);
}

static Expected<std::vector<RefTensor>> meaning(QuantizeOp op, const Lookup &get) {
  RefCodes made = quantize(op, get(op.getInput()));
  return std::vector<RefTensor>{std::move(made.codes), std::move(made.scales)};
}

static Expected<std::vector<RefTensor>> meaning(CacheQuantizeOp op, const Lookup &get) {
  RefCodes made = quantize(op, get(op.getRows()));
  return std::vector<RefTensor>{std::move(made.codes), std::move(made.scales)};
}

//===- Row-wise ops ------------------------------------------------------===//

int64_t weightsOf(const RefTensor &gamma, const RefTensor &input, int64_t row) {
  return gamma.shape.size() == 1 ? 0 : row / input.shape[2] % gamma.shape[0] * gamma.shape[1];
}

/// Layer norm. With `root` false, rows are divided by the variance instead of its square root.
static RefTensor meaning(LayerNormOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput()), &gamma = get(op.getGamma()),
                  &beta = get(op.getBeta());
  double epsilon = op.getEpsilon().convertToFloat();
  int64_t features = input.shape.back();
  RefTensor result = input;
  for (int64_t row = 0; row < rowCount(input); ++row) {
    const double *x = input.values.data() + row * features;
    double mean = 0, variance = 0;
    for (int64_t e = 0; e < features; ++e)
      mean += x[e] / features;
    for (int64_t e = 0; e < features; ++e)
      variance += (x[e] - mean) * (x[e] - mean) / features;
    double divisor = op.getRoot() ? std::sqrt(variance + epsilon) : variance + epsilon;
    int64_t weights = weightsOf(gamma, input, row);
    for (int64_t e = 0; e < features; ++e)
      result.values[row * features + e] =
          (x[e] - mean) / divisor * gamma.values[weights + e] + beta.values[weights + e];
  }
  return result;
}

static RefTensor meaning(UnfoldOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput());
  auto size = static_cast<int64_t>(op.getSize()), stride = static_cast<int64_t>(op.getStride());
  int64_t channels = input.shape[op.getChannelDim()], rows = input.shape[3 - op.getChannelDim()];
  RefTensor result = make({input.shape[0], (rows - 1) / stride + 1, channels * size});
  size_t next = 0;
  for (int64_t b = 0; b < input.shape[0]; ++b)
    for (int64_t row = 0; row < rows; row += stride)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t d = 0; d < size; ++d) {
          int64_t from = row + d - size / 2;
          int64_t place = op.getChannelsFirst() ? c * rows + from : from * channels + c;
          bool inside = from >= 0 && from < rows;
          result.values[next++] = inside ? input.values[b * rows * channels + place] : 0;
        }
  return result;
}

/// Prepends the rows of `first` to the rows of every sequence.
static RefTensor meaning(ConcatOp op, const Lookup &get) {
  const RefTensor &first = get(op.getFirst()), &rows = get(op.getRows());
  int64_t before = first.size(), behind = rows.shape[1] * rows.shape[2];
  RefTensor result = make({rows.shape[0], first.shape[0] + rows.shape[1], rows.shape[2]});
  auto out = result.values.begin();
  for (int64_t b = 0; b < rows.shape[0]; ++b) {
    out = std::copy_n(first.values.begin(), before, out);
    out = std::copy_n(rows.values.begin() + b * behind, behind, out);
  }
  return result;
}

static RefTensor meaning(RmsNormOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput()), &gamma = get(op.getGamma());
  double epsilon = op.getEpsilon().convertToFloat();
  int64_t features = input.shape.back();
  RefTensor result = input;
  for (int64_t row = 0; row < rowCount(input); ++row) {
    const double *x = input.values.data() + row * features;
    double square = 0;
    for (int64_t e = 0; e < features; ++e)
      square += x[e] * x[e] / features;
    int64_t weights = weightsOf(gamma, input, row);
    for (int64_t e = 0; e < features; ++e)
      result.values[row * features + e] =
          x[e] / std::sqrt(square + epsilon) * gamma.values[weights + e];
  }
  return result;
}

static RefTensor meaning(NormalizeOp op, const Lookup &get) {
  RefTensor result = get(op.getInput());
  int64_t features = result.shape.back();
  for (int64_t row = 0; row < rowCount(result); ++row) {
    double *x = result.values.data() + row * features, square = 0;
    for (int64_t e = 0; e < features; ++e)
      square += x[e] * x[e];
    double length = std::max<double>(std::sqrt(square), op.getEpsilon().convertToFloat());
    for (int64_t e = 0; e < features; ++e)
      x[e] /= length;
  }
  return result;
}

static RefTensor meaning(SoftcapOp op, const Lookup &get) {
  RefTensor result = get(op.getInput());
  double cap = op.getCap().convertToFloat();
  for (double &value : result.values)
    value = cap * std::tanh(value / cap);
  return result;
}

static RefTensor meaning(GateOp op, const Lookup &get) {
  RefTensor result = get(op.getInput());
  applyGate(op, get(op.getGate()), result);
  return result;
}

static RefTensor meaning(XieluOp op, const Lookup &get) {
  RefTensor result = get(op.getInput());
  const std::vector<double> &slopes = get(op.getSlopes()).values;
  const double above = std::log1p(std::exp(slopes[0])),
               below = 0.5 + std::log1p(std::exp(slopes[1]));
  for (double &x : result.values)
    x = (x > 0 ? above * x * x : below * (std::expm1(std::min(x, -1e-6)) - x)) + x / 2;
  return result;
}

static RefTensor meaning(ScaleOp op, const Lookup &get) {
  RefTensor result = get(op.getInput());
  for (double &value : result.values)
    value *= op.getFactor().convertToFloat();
  return result;
}

/// Softmax. A row whose elements are all minus infinity gives zeros, not NaN.
static RefTensor meaning(SoftmaxOp op, const Lookup &get) {
  RefTensor result = get(op.getInput());
  int64_t features = result.shape.back();
  for (int64_t row = 0; row < rowCount(result); ++row) {
    double *x = result.values.data() + row * features;
    double largest = *std::max_element(x, x + features), sum = 0;
    for (int64_t e = 0; e < features; ++e) {
      x[e] = x[e] == -INFINITY ? 0 : std::exp(x[e] - largest);
      sum += x[e];
    }
    for (int64_t e = 0; e < features; ++e)
      x[e] = sum == 0 ? 0 : x[e] / sum;
  }
  return result;
}

//===- Losses ------------------------------------------------------------===//

static RefTensor meaning(CrossEntropyRowsOp op, const Lookup &get) {
  return crossEntropyRows(get(op.getLogits()), get(op.getIds()), op.getPaddingId());
}
static RefTensor meaning(CrossEntropyMeanOp op, const Lookup &get) {
  return crossEntropyMean(get(op.getRows()));
}
static RefTensor meaning(CrossEntropyOp op, const Lookup &get) {
  return crossEntropyMean(crossEntropyRows(get(op.getLogits()), get(op.getIds()), op.getPaddingId(),
                                           op.getSmoothing().convertToDouble(), op.getOver()));
}

static RefTensor meaning(ShiftRightOp op, const Lookup &get) {
  const RefTensor &ids = get(op.getIds());
  RefTensor result = ids;
  const RefTensor *starts = op.getDocuments() ? &get(op.getDocuments()) : nullptr;
  int64_t rows = ids.shape[1];
  for (int64_t n = 0; n < ids.size(); ++n) {
    bool isFirst =
        starts ? llvm::is_contained(starts->values, static_cast<double>(n)) : n % rows == 0;
    result.values[n] = isFirst ? static_cast<double>(op.getStart()) : ids.values[n - 1];
  }
  return result;
}

//===- Shapes ------------------------------------------------------------===//

/// Pools the values of a feature, which are in the order of their rows; 0 without values.
static double pooled(Pooling kind, llvm::ArrayRef<double> values) {
  if (values.empty())
    return 0;
  switch (kind) {
  case Pooling::Cls:
    return values.front();
  case Pooling::Last:
    return values.back();
  case Pooling::Max:
    return llvm::accumulate(values, -INFINITY, [](double x, double y) { return std::fmax(x, y); });
  case Pooling::Mean:
    return llvm::accumulate(values, 0.0) / static_cast<double>(values.size());
  case Pooling::Sum:
    return llvm::accumulate(values, 0.0);
  case Pooling::MeanSqrt:
    return llvm::accumulate(values, 0.0) / std::sqrt(static_cast<double>(values.size()));
  case Pooling::WeightedMean: {
    double sum = 0, weights = 0;
    for (auto [row, value] : llvm::enumerate(values)) {
      weights += static_cast<double>(row + 1);
      sum += static_cast<double>(row + 1) * value;
    }
    return sum / weights;
  }
  }
  llvm_unreachable("all poolings are listed");
}

/// Pools the first `length` rows of each sequence, or each packed document, to one row.
static RefTensor meaning(PoolOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput()), *lengths = optional(op.getLengths(), get),
                  *starts = optional(op.getDocuments(), get);
  int64_t rows = input.shape[1], features = input.shape[2];
  int64_t count = starts ? starts->size() - 1 : input.shape[0];
  SmallVector<PoolingAttr> kinds(op.getKinds().getAsRange<PoolingAttr>());
  RefTensor result = make({count, features * static_cast<int64_t>(kinds.size())});
  for (int64_t n = 0; n < count; ++n) {
    int64_t first = starts ? static_cast<int64_t>(starts->values[n]) : n * rows;
    int64_t length = starts    ? static_cast<int64_t>(starts->values[n + 1]) - first
                     : lengths ? static_cast<int64_t>(lengths->values[n])
                               : rows;
    std::vector<double> values(std::max<int64_t>(length, 0));
    for (int64_t e = 0; e < features; ++e) {
      for (auto [row, value] : llvm::enumerate(values))
        value = input.values[(first + static_cast<int64_t>(row)) * features + e];
      for (auto [k, kind] : llvm::enumerate(kinds))
        result.values[(n * static_cast<int64_t>(kinds.size()) + k) * features + e] =
            pooled(kind.getValue(), values);
    }
  }
  return result;
}

static RefTensor meaning(SplitHeadsOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput());
  int64_t heads = op.getHeads();
  int64_t B = input.shape[0], T = input.shape[1], D = input.shape[2] / heads;
  RefTensor result = make({B, heads, T, D});
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t t = 0; t < T; ++t)
        for (int64_t d = 0; d < D; ++d)
          result.values[((b * heads + h) * T + t) * D + d] =
              input.values[(b * T + t) * heads * D + h * D + d];
  return result;
}

static RefTensor meaning(MergeHeadsOp op, const Lookup &get) {
  const RefTensor &input = get(op.getInput());
  int64_t B = input.shape[0], H = input.shape[1], T = input.shape[2], D = input.shape[3];
  RefTensor result = make({B, T, H * D});
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t t = 0; t < T; ++t)
        for (int64_t d = 0; d < D; ++d)
          result.values[(b * T + t) * H * D + h * D + d] =
              input.values[((b * H + h) * T + t) * D + d];
  return result;
}

//===- Dispatch ----------------------------------------------------------===//

using Results = Expected<std::vector<RefTensor>>;

static Results asResults(Results results) { return results; }
static Results asResults(Expected<RefTensor> result) {
  return std::vector<RefTensor>{HEDDLE_TRY(result)};
}

Results resultsOf(Operation *op, const Lookup &get) {
  if (std::optional<Results> results = gradientsOf(op, get))
    return std::move(*results);
  if (std::optional<Results> results = expertsOf(op, get))
    return std::move(*results);
  if (std::optional<RefTensor> result = mapsOf(op, get))
    return std::vector<RefTensor>{std::move(*result)};
  return llvm::TypeSwitch<Operation *, Results>(op)
      .Case<EmbeddingOp, PositionLearnedOp, PositionSinusoidalOp, RotaryOp, UnfoldOp, ConcatOp,
            LinearOp, HeadProductsOp, Conv1x1Op, FfnOp, QuantizeOp, CacheQuantizeOp, LayerNormOp,
            RmsNormOp, NormalizeOp, GateOp, XieluOp, ScaleOp, SoftcapOp, SoftmaxOp, CrossEntropyOp,
            CrossEntropyRowsOp, CrossEntropyMeanOp, ShiftRightOp, PoolOp, SplitHeadsOp,
            MergeHeadsOp>([&](auto known) { return asResults(meaning(known, get)); })
      .Case([&](AttentionOp attends) { return attention(attends, get); })
      .Case([&](AttentionStatisticsOp attends) { return attentionStatistics(attends, get); })
      .Case([&](AttentionWeightsOp attends) { return attentionWeights(attends, get); })
      .Default([&](Operation *other) { return asResults(arithmetic(other, get)); });
}

} // namespace heddle::reference
