//===- ReferenceFormats.cpp - Products and number formats -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Number formats in the reference: codes of weights and rows, the value of a sum of their products,
// and codes in an artifact's panels.

#include "ReferenceOps.h"

#include "heddle/Support/Float.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>

using namespace mlir;

namespace heddle::reference {

RefTensor make(std::vector<int64_t> shape, DType type) {
  RefTensor result{type, std::move(shape), {}};
  result.values.resize(elementCount(result.shape));
  return result;
}

int64_t rowCount(const RefTensor &t) { return t.shape.back() ? t.size() / t.shape.back() : 0; }

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

/// Rounds once to f16, that is, to a multiple of the last place of the number's binade.
static double toHalf(double x) {
  double unit = std::ldexp(1.0, std::max(x == 0 ? -14 : std::ilogb(x), -14) - 10);
  double rounded = std::nearbyint(x / unit) * unit;
  return std::fabs(rounded) < 65536 ? rounded : INFINITY;
}

/// Replaces the numbers of a group by the values of their codes, for the part of their range with
/// the least squared error.
static void roundGroup(std::span<double> group) {
  const std::vector<double> numbers(group.begin(), group.end());
  std::ranges::fill(group, NAN);
  if (!std::ranges::all_of(numbers, [](double w) { return std::isfinite(w); }))
    return;
  auto [low, high] = std::ranges::minmax(numbers);
  double least = INFINITY;
  for (double part : {1.0, 0.97, 0.94, 0.90, 0.86}) {
    double cut = (high - low) * ((1 - part) / 2), minimum = toHalf(low + cut),
           scale = toHalf(((high - cut) - (low + cut)) / 15), sum = 0;
    if (std::isinf(minimum) || std::isinf(scale))
      continue;
    std::vector<double> rounded;
    for (double w : numbers) {
      float steps = scale == 0 ? 0
                               : (static_cast<float>(w) - static_cast<float>(minimum)) /
                                     static_cast<float>(scale);
      rounded.push_back(scale * std::clamp(std::nearbyint(steps), 0.0f, 15.0f) + minimum);
      sum += (w - rounded.back()) * (w - rounded.back());
    }
    if (sum >= least)
      continue;
    least = sum;
    std::ranges::copy(rounded, group.begin());
  }
}

/// Replaces a matrix by the values of its int4 codes.
static RefTensor inInt4(RefTensor matrix) {
  int64_t columns = matrix.shape.back(), group = formatOf(DType::I4).group;
  for (int64_t start = 0; start < matrix.size(); start += columns)
    for (int64_t first = 0; first < columns; first += group)
      roundGroup(std::span(matrix.values)
                     .subspan(static_cast<size_t>(start + first),
                              static_cast<size_t>(std::min(group, columns - first))));
  return matrix;
}

RefTensor linear(const RefTensor &input, const RefTensor &weight, const RefTensor *bias,
                 transformer::Activation activation) {
  int64_t outputs = weight.shape[0], features = input.shape.back();
  std::vector<int64_t> shape = input.shape;
  shape.back() = outputs;
  RefTensor result = make(shape);
  for (int64_t row = 0; row < rowCount(input); ++row)
    for (int64_t n = 0; n < outputs; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < features; ++k)
        sum += input.values[row * features + k] * weight.values[n * features + k];
      if (bias)
        sum += bias->values[n];
      result.values[row * outputs + n] = activate(activation, sum);
    }
  return result;
}

RefTensor decodedRows(const NumberFormat &format, RefTensor codes, const RefTensor *scales) {
  if (!scales)
    return codes;
  int64_t features = codes.shape.back(), perRow = scales->shape.back();
  for (int64_t n = 0; n < codes.size(); ++n) {
    int64_t row = n / features, k = n % features;
    codes.values[n] *= scales->values[row * perRow + k / format.scaleGroup * format.groupScales];
  }
  return codes;
}

RefTensor decodedMatrix(RefTensor codes, const RefTensor *scales) {
  for (int64_t n = 0; scales && n < codes.size(); ++n)
    codes.values[n] *= scales->values[n / codes.shape.back()];
  return codes;
}

/// Zeroed codes and scales, one scale per row.
static RefCodes emptyCodes(const RefTensor &input, DType type) {
  std::vector<int64_t> shape = input.shape;
  shape.back() = 1;
  return {make(input.shape, type), make(shape)};
}

namespace {
struct RowMagnitude {
  float largest = 0;
  bool isUsual = true; ///< all numbers are below 2^127; false with a NaN
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

static RefCodes quantizeToHalves(const RefTensor &input) {
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

static RefCodes quantizeToBytes(const RefTensor &input) {
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

/// Quantizes each group of features like a row; each scale is followed by the scaled sum of the
/// group's codes.
static RefCodes quantizeGroups(const RefTensor &input, int64_t group) {
  int64_t features = input.shape.back(), groups = (features + group - 1) / group;
  RefCodes result{make(input.shape, DType::I8), {}};
  result.scales.shape = input.shape;
  result.scales.shape.back() = 2 * groups;
  for (int64_t row = 0; row < rowCount(input); ++row)
    for (int64_t first = 0; first < features; first += group) {
      int64_t count = std::min(group, features - first), start = row * features + first;
      RefTensor part = make({1, count});
      std::copy_n(input.values.begin() + start, count, part.values.begin());
      RefCodes made = quantizeToBytes(part);
      std::ranges::copy(made.codes.values, result.codes.values.begin() + start);
      auto scale = static_cast<float>(made.scales.values.front()),
           sum = static_cast<float>(
               std::accumulate(made.codes.values.begin(), made.codes.values.end(), 0.0));
      result.scales.values.insert(result.scales.values.end(), {scale, scale * sum});
    }
  return result;
}

RefCodes quantize(transformer::QuantizeOp op, const RefTensor &input) {
  bool asFloats = formatOf(*elementType(op.getCodes().getType())).isFloat(),
       inGroups = op.getScales().getType().getShape().back() > 1;
  return asFloats   ? quantizeToHalves(input)
         : inGroups ? quantizeGroups(input, op.getScaleGroup())
                    : quantizeToBytes(input);
}

RefCodes quantize(transformer::CacheQuantizeOp, const RefTensor &rows) {
  RefCodes made = quantizeToBytes(rows);
  made.scales.shape.pop_back();
  return made;
}

RefTensor entering(DType query, const RefTensor &kept, const RefTensor *scales) {
  RefTensor result = kept;
  if (scales)
    for (int64_t n = 0; n < result.size(); ++n)
      result.values[n] = static_cast<float>(scales->values[n / kept.shape.back()]) *
                         static_cast<float>(kept.values[n]);
  return query == DType::BF16 ? roundedTo(query, std::move(result)) : result;
}

RefTensor scalesOfRows(const RefTensor &matrix) {
  RefCodes made = quantizeToBytes(matrix);
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  RefTensor result{DType::F32, {2, rows}, made.scales.values};
  for (int64_t row = 0; row < rows; ++row)
    result.values.push_back(std::accumulate(made.codes.values.begin() + row * columns,
                                            made.codes.values.begin() + (row + 1) * columns, 0.0));
  return result;
}

RefTensor storedAs(DType type, RefTensor weight) {
  if (type == DType::I8)
    return quantizeToBytes(weight).codes;
  return roundedTo(type, type == DType::I4 ? inInt4(std::move(weight)) : std::move(weight));
}

/// A group of columns of a panel occupies lines of codes, and one line of 16 scales and 16 minimums.
/// A byte of i4 holds two columns that are four apart; a byte of other types is 128 + code.
float unpackedCode(DType type, const std::byte *panels, int64_t columns, int64_t row,
                   int64_t column) {
  const int64_t group = formatOf(type).group, groups = (columns + group - 1) / group,
                lines = type == DType::I4 ? 4 : group / 4, k = column % 8;
  const std::byte *block = panels + (row / 16 * groups + column / group) * (lines + 1) * 64;
  uint16_t scale, minimum;
  std::memcpy(&scale, block + lines * 64 + row % 16 * 2, 2);
  std::memcpy(&minimum, block + lines * 64 + 32 + row % 16 * 2, 2);
  auto byteAt = [&](int64_t line, int64_t place) {
    return std::to_integer<int>(block[line * 64 + row % 16 * 4 + place]);
  };
  const int byte = type == DType::I4 ? byteAt(column % 32 / 8, k % 4)
                                     : byteAt(column % group / 4, column % 4) - 128;
  const int code = type == DType::I4 ? (k < 4 ? byte & 15 : byte >> 4) : byte;
  return floatFromHalf(scale) * static_cast<float>(code) + floatFromHalf(minimum);
}

} // namespace heddle::reference
