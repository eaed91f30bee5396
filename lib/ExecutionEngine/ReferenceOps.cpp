//===- ReferenceOps.cpp - Embeddings, products, norms, heads --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of the op descriptions as loops over all indices, in f64.

#include "ReferenceOps.h"

#include "heddle/Support/Float.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

using namespace mlir;

namespace heddle::reference {

Error errorAt(Operation *op, const std::string &message) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto place = dyn_cast<FileLineColLoc>(op->getLoc()))
    os << place.getFilename().getValue() << ":" << place.getLine() << ":" << place.getColumn()
       << ": ";
  os << "'" << op->getName() << "': " << message;
  return inputError(text);
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

int64_t elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

static RefTensor make(std::vector<int64_t> shape, DType type = DType::F32) {
  RefTensor result{type, std::move(shape), {}};
  result.values.resize(elementCount(result.shape));
  return result;
}

/// Rows of a tensor: all dimensions but the last. Empty features make no rows.
static int64_t rowCount(const RefTensor &t) {
  return t.shape.back() ? t.size() / t.shape.back() : 0;
}

double activate(transformer::Activation activation, double x) {
  using transformer::Activation;
  switch (activation) {
  case Activation::None:
    return x;
  case Activation::Relu:
    return x < 0 ? 0 : x; // a NaN stays one
  case Activation::Gelu:
    return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
  case Activation::GeluTanh:
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  case Activation::QuickGelu:
    return x / (1 + std::exp(-1.702 * x));
  case Activation::Silu:
    return x / (1 + std::exp(-x));
  }
  llvm_unreachable("all activations are listed");
}

double roundedTo(DType type, double x) {
  float value = static_cast<float>(x);
  return type == DType::BF16  ? floatFromBFloat(bfloatFromFloat(value))
         : type == DType::F16 ? floatFromHalf(halfFromFloat(value))
                              : x;
}

RefTensor roundedTo(DType type, RefTensor value) {
  for (double &x : value.values)
    x = roundedTo(type, x);
  value.type = type;
  return value;
}

/// The numbers of one group as what their codes stand for.
static void roundGroup(std::span<double> group) {
  float largest = 0;
  bool isFinite = true;
  for (double w : group) {
    isFinite &= std::isfinite(w);
    largest = std::max(largest, static_cast<float>(std::fabs(w)));
  }
  auto scale = static_cast<float>(roundedTo(DType::F16, largest / 7));
  for (double &w : group)
    if (!isFinite || std::isinf(scale))
      w = NAN;
    else if (scale == 0)
      w = 0;
    else
      w = scale * std::clamp(std::nearbyint(static_cast<float>(w) / scale), -8.0f, 7.0f);
}

RefTensor inNibbles(RefTensor matrix) {
  int64_t columns = matrix.shape.back();
  for (int64_t start = 0; start < matrix.size(); start += columns)
    for (int64_t first = 0; first < columns; first += 32)
      roundGroup(std::span(matrix.values)
                     .subspan(static_cast<size_t>(start + first),
                              static_cast<size_t>(std::min<int64_t>(32, columns - first))));
  return matrix;
}

Expected<RefTensor> embedding(transformer::EmbeddingOp op, const RefTensor &ids,
                              const RefTensor &table) {
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

/// Where the document of row t begins: the last start that is not behind it.
static int64_t originOf(int64_t t, const RefTensor *starts) {
  double first = 0;
  for (double start : starts ? starts->values : std::vector<double>())
    if (start <= static_cast<double>(t))
      first = start;
  return static_cast<int64_t>(first);
}

Expected<RefTensor> learned(transformer::PositionLearnedOp op, const RefTensor &input,
                            const RefTensor &table, int64_t offset, const RefTensor *starts) {
  double scale = op.getScale().convertToFloat();
  RefTensor result = input;
  int64_t rows = input.shape[1], columns = input.shape[2];
  for (int64_t n = 0; n < input.size(); ++n) {
    int64_t t = n / columns % rows, position = offset + t - originOf(t, starts);
    if (position >= table.shape[0])
      return errorAt(op, "expected positions below " + std::to_string(table.shape[0]) + ", found " +
                             std::to_string(position));
    result.values[n] += scale * table.values[position * columns + n % columns];
  }
  return result;
}

RefTensor sinusoidal(transformer::PositionSinusoidalOp op, const RefTensor &input, int64_t offset,
                     const RefTensor *starts) {
  double scale = op.getScale().convertToFloat();
  RefTensor result = input;
  int64_t rows = input.shape[1], columns = input.shape[2];
  for (int64_t n = 0; n < input.size(); ++n) {
    int64_t t = n / columns % rows, e = n % columns;
    double angle = static_cast<double>(offset + t - originOf(t, starts)) /
                   std::pow(10000.0, static_cast<double>(e / 2 * 2) / columns);
    result.values[n] += scale * (e % 2 == 0 ? std::sin(angle) : std::cos(angle));
  }
  return result;
}

/// `scale(row, n)` is what a sum of products is worth.
template <typename Scale>
static RefTensor product(const RefTensor &input, const RefTensor &weight, const RefTensor *bias,
                         transformer::Activation activation, Scale scale) {
  int64_t outputs = weight.shape[0], features = input.shape.back();
  std::vector<int64_t> shape = input.shape;
  shape.back() = outputs;
  RefTensor result = make(shape);
  for (int64_t row = 0; row < rowCount(input); ++row)
    for (int64_t n = 0; n < outputs; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < features; ++k)
        sum += input.values[row * features + k] * weight.values[n * features + k];
      sum *= scale(row, n);
      if (bias)
        sum += bias->values[n];
      result.values[row * outputs + n] = activate(activation, sum);
    }
  return result;
}

RefTensor linear(const RefTensor &input, const RefTensor &weight, const RefTensor *bias,
                 transformer::Activation activation) {
  return product(input, weight, bias, activation, [](int64_t, int64_t) { return 1.0; });
}

RefTensor linearOfCodes(const RefTensor &input, const RefTensor &inputScales,
                        const RefTensor &weight, const RefTensor *weightScales,
                        const RefTensor *bias, transformer::Activation activation) {
  return product(input, weight, bias, activation, [&](int64_t row, int64_t n) {
    return inputScales.values[row] * (weightScales ? weightScales->values[n] : 1);
  });
}

/// Codes of zero and no scales yet.
static RefCodes emptyCodes(const RefTensor &input, DType type) {
  std::vector<int64_t> shape = input.shape;
  shape.back() = 1;
  return {make(input.shape, type), make(shape)};
}

namespace {
struct RowMagnitude {
  float largest = 0;
  bool isUsual = true; ///< all numbers are, and below 2^127
};
} // namespace

static RowMagnitude magnitudeOf(std::span<const double> row) {
  RowMagnitude result;
  for (double x : row) {
    auto magnitude = static_cast<float>(std::fabs(x));
    result.isUsual &= magnitude < 0x1p127f;
    result.largest = std::max(result.largest, magnitude);
  }
  return result;
}

RefCodes quantizeToHalves(const RefTensor &input) {
  auto features = static_cast<size_t>(input.shape.back());
  RefCodes result = emptyCodes(input, DType::F16);
  for (size_t row = 0; row < result.scales.values.size(); ++row) {
    std::span<const double> x(input.values.data() + row * features, features);
    auto [largest, isUsual] = magnitudeOf(x);
    bool isEmpty = isUsual && largest < 0x1p-101f;
    double scale = !isUsual ? NAN : isEmpty ? 0 : std::ldexp(1.0, std::ilogb(largest));
    result.scales.values[row] = scale;
    for (size_t k = 0; k < features && scale > 0; ++k)
      result.codes.values[row * features + k] = roundedTo(DType::F16, x[k] / scale);
  }
  return result;
}

RefCodes quantize(const RefTensor &input) {
  int64_t features = input.shape.back();
  RefCodes result = emptyCodes(input, DType::I8);
  for (int64_t row = 0; row < rowCount(input); ++row) {
    const double *x = input.values.data() + row * features;
    auto [largest, isUsual] = magnitudeOf({x, static_cast<size_t>(features)});
    bool isEmpty = isUsual && largest < 0x1p-118f;
    result.scales.values[row] = !isUsual ? NAN : isEmpty ? 0 : largest / 127;
    for (int64_t k = 0; k < features && !isEmpty; ++k)
      result.codes.values[row * features + k] =
          isUsual ? std::nearbyint(static_cast<float>(x[k]) * (127 / largest)) : NAN;
  }
  return result;
}

RefTensor layerNorm(transformer::LayerNormOp op, const RefTensor &input, const RefTensor &gamma,
                    const RefTensor &beta) {
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
    for (int64_t e = 0; e < features; ++e)
      result.values[row * features + e] =
          (x[e] - mean) / divisor * gamma.values[e] + beta.values[e];
  }
  return result;
}

RefTensor patches(const RefTensor &image, int64_t side) {
  int64_t channels = image.shape[1], height = image.shape[2], width = image.shape[3];
  RefTensor result = make({image.shape[0], height / side * (width / side), channels * side * side});
  size_t next = 0;
  for (int64_t b = 0; b < image.shape[0]; ++b)
    for (int64_t y = 0; y < height; y += side)
      for (int64_t x = 0; x < width; x += side)
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t dy = 0; dy < side; ++dy)
            for (int64_t dx = 0; dx < side; ++dx)
              result.values[next++] =
                  image.values[((b * channels + c) * height + y + dy) * width + x + dx];
  return result;
}

RefTensor concat(const RefTensor &first, const RefTensor &rows) {
  int64_t before = first.size(), behind = rows.shape[1] * rows.shape[2];
  RefTensor result = make({rows.shape[0], first.shape[0] + rows.shape[1], rows.shape[2]});
  auto out = result.values.begin();
  for (int64_t b = 0; b < rows.shape[0]; ++b) {
    out = std::copy_n(first.values.begin(), before, out);
    out = std::copy_n(rows.values.begin() + b * behind, behind, out);
  }
  return result;
}

RefTensor rmsNorm(transformer::RmsNormOp op, const RefTensor &input, const RefTensor &gamma) {
  double epsilon = op.getEpsilon().convertToFloat();
  int64_t features = input.shape.back();
  RefTensor result = input;
  for (int64_t row = 0; row < rowCount(input); ++row) {
    const double *x = input.values.data() + row * features;
    double square = 0;
    for (int64_t e = 0; e < features; ++e)
      square += x[e] * x[e] / features;
    for (int64_t e = 0; e < features; ++e)
      result.values[row * features + e] = x[e] / std::sqrt(square + epsilon) * gamma.values[e];
  }
  return result;
}

RefTensor softmax(const RefTensor &input) {
  int64_t features = input.shape.back();
  RefTensor result = input;
  for (int64_t row = 0; row < rowCount(input); ++row) {
    double *x = result.values.data() + row * features;
    double largest = *std::max_element(x, x + features), sum = 0;
    for (int64_t e = 0; e < features; ++e)
      sum += x[e] = x[e] == -INFINITY ? 0 : std::exp(x[e] - largest);
    for (int64_t e = 0; e < features; ++e)
      x[e] = sum == 0 ? 0 : x[e] / sum;
  }
  return result;
}

RefTensor crossEntropyRows(const RefTensor &logits, const RefTensor &ids,
                           std::optional<int64_t> padding) {
  int64_t features = logits.shape.back();
  std::vector<int64_t> shape = logits.shape;
  shape.back() = 2;
  RefTensor result = make(shape);
  for (int64_t row = 0; row < rowCount(logits); ++row) {
    int64_t id = static_cast<int64_t>(ids.values[row]);
    if (padding && *padding == id)
      continue;
    const double *x = logits.values.data() + row * features;
    double largest = *std::max_element(x, x + features), sum = 0;
    for (int64_t e = 0; e < features; ++e)
      sum += std::exp(x[e] - largest);
    result.values[2 * row] = largest + std::log(sum) - x[id];
    result.values[2 * row + 1] = 1;
  }
  return result;
}

RefTensor crossEntropyMean(const RefTensor &rows) {
  RefTensor result = make({1});
  double count = 0;
  for (int64_t row = 0; row < rowCount(rows); ++row) {
    result.values[0] += rows.values[2 * row];
    count += rows.values[2 * row + 1];
  }
  if (count != 0)
    result.values[0] /= count;
  return result;
}

RefTensor shiftRight(const RefTensor &ids, int64_t start) {
  RefTensor result = ids;
  int64_t rows = ids.shape[1];
  for (int64_t n = 0; n < ids.size(); ++n)
    result.values[n] = n % rows ? ids.values[n - 1] : static_cast<double>(start);
  return result;
}

RefTensor pool(transformer::Pooling kind, const RefTensor &input, const RefTensor *lengths,
               const RefTensor *starts) {
  using transformer::Pooling;
  int64_t rows = input.shape[1], features = input.shape[2];
  int64_t count = starts ? starts->size() - 1 : input.shape[0];
  RefTensor result = make({count, features});
  for (int64_t n = 0; n < count; ++n) {
    int64_t first = starts ? static_cast<int64_t>(starts->values[n]) : n * rows;
    int64_t length = starts    ? static_cast<int64_t>(starts->values[n + 1]) - first
                     : lengths ? static_cast<int64_t>(lengths->values[n])
                               : rows;
    int64_t from = kind == Pooling::Last ? std::max<int64_t>(length - 1, 0) : 0;
    int64_t to = kind == Pooling::Cls ? std::min<int64_t>(length, 1) : length;
    for (int64_t row = first + from; row < first + to; ++row)
      for (int64_t e = 0; e < features; ++e)
        result.values[n * features + e] += input.values[row * features + e] / (to - from);
  }
  return result;
}

RefTensor splitHeads(const RefTensor &input, int64_t heads) {
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

RefTensor mergeHeads(const RefTensor &input) {
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

RefTensor appendRows(const RefTensor &before, const RefTensor &rows) {
  int64_t outer = rows.shape[0] * rows.shape[1], old = before.shape[2], added = rows.shape[2],
          D = rows.shape[3];
  RefTensor result = make({rows.shape[0], rows.shape[1], old + added, D}, rows.type);
  auto out = result.values.begin();
  for (int64_t n = 0; n < outer; ++n) {
    out = std::copy_n(before.values.begin() + n * old * D, old * D, out);
    out = std::copy_n(rows.values.begin() + n * added * D, added * D, out);
  }
  return result;
}

RefTensor exchangeFirstTwo(const RefTensor &value) {
  std::vector<int64_t> shape = value.shape;
  std::swap(shape[0], shape[1]);
  RefTensor result = make(shape, value.type);
  int64_t inner = elementCount({shape.begin() + 2, shape.end()});
  for (int64_t a = 0; a < shape[0]; ++a)
    for (int64_t b = 0; b < shape[1]; ++b)
      std::copy_n(value.values.begin() + (b * shape[0] + a) * inner, inner,
                  result.values.begin() + (a * shape[1] + b) * inner);
  return result;
}

RefTensor takeRows(const RefTensor &value, const std::vector<int64_t> &parents) {
  std::vector<int64_t> shape = value.shape;
  shape[0] = static_cast<int64_t>(parents.size());
  RefTensor result = make(shape, value.type);
  int64_t row = value.shape[0] ? value.size() / value.shape[0] : 0;
  for (size_t r = 0; r < parents.size(); ++r)
    std::copy_n(value.values.begin() + parents[r] * row, row,
                result.values.begin() + static_cast<int64_t>(r) * row);
  return result;
}

} // namespace heddle::reference
