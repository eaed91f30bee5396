//===- ReferenceOps.h - Parts of the reference interpreter -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Semantics of ops: functions from the values of an op's operands to its results. The interpreter
// in Reference.cpp walks functions and keeps states.
#pragma once

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/ExecutionEngine/Reference.h"

#include <optional>

namespace heddle::reference {

/// A shared, immutable tensor.
using Ref = std::shared_ptr<const RefTensor>;
/// Returns the tensor of an SSA value of tensor, integer or float type.
using Lookup = std::function<const RefTensor &(mlir::Value)>;

/// The tensor of an optional operand; null without one.
inline const RefTensor *optional(mlir::Value value, const Lookup &get) {
  return value ? &get(value) : nullptr;
}

/// Error at an op: "x.mlir:3:5: 'transformer.linear': expected …, found …".
Error errorAt(mlir::Operation *op, const std::string &message);
int64_t elementCount(const std::vector<int64_t> &shape);

/// Rounds to `type`, to nearest, ties to even, if it is narrower than f32.
double roundedTo(DType type, double x);
/// Element type of a tensor or number; none if the reference does not support it.
std::optional<DType> elementType(mlir::Type type);

double activate(transformer::Activation activation, double x);
/// The derivative of an activation at `x`.
double slopeOf(transformer::Activation activation, double x);
/// The derivative of an activation whose result is `y`.
double slopeOfResult(transformer::Activation activation, double y);
/// Replaces the inputs of a gate by its results. `op` has the attributes of `transformer.gate`.
template <typename Op>
void applyGate(Op op, const RefTensor &gate, RefTensor &inputs) {
  auto limited = [&](double low, double x, double high) {
    return !op.getLimit() ? x : x < low ? low : x > high ? high : x; // NaN is kept
  };
  const double limit = op.getLimit() ? op.getLimit()->convertToDouble() : 0;
  for (auto [x, factor] : llvm::zip_equal(inputs.values, gate.values))
    x = activate(op.getActivation(), limited(factor, factor, limit)) *
        (limited(-limit, x, limit) + op.getOffset().convertToDouble());
}
/// Offset of the weights of a norm's row: the weights of its head, if each head has its own.
int64_t weightsOf(const RefTensor &gamma, const RefTensor &input, int64_t row);

// ReferenceFormats.cpp
RefTensor make(std::vector<int64_t> shape, DType type = DType::F32);
/// Number of rows of a tensor, the product of all dimensions except the last; 0 for rows without
/// features.
int64_t rowCount(const RefTensor &t);
/// Activation of input * weight^T + bias. Weights of convolutions are read as matrices.
RefTensor linear(const RefTensor &input, const RefTensor &weight, const RefTensor *bias,
                 transformer::Activation activation);
/// Dequantizes codes of rows by the scale of their group of features; without `scales`, returns the
/// values.
RefTensor decodedRows(const NumberFormat &format, RefTensor codes, const RefTensor *scales);
/// Dequantizes codes of a matrix by one scale per row. A weight's scales have a second row (sums of
/// codes), which is ignored.
RefTensor decodedMatrix(RefTensor codes, const RefTensor *scales);
RefTensor roundedTo(DType type, RefTensor value);
/// Quantized rows: codes, and the scales of each row.
struct RefCodes {
  RefTensor codes, scales;
};
RefCodes quantize(transformer::QuantizeOp op, const RefTensor &input);
/// Quantizes rows of heads as caches store them.
RefCodes quantize(transformer::CacheQuantizeOp op, const RefTensor &rows);
/// Keys or values as numbers of the queries' type, to which they are rounded when they enter
/// products.
RefTensor entering(DType query, const RefTensor &kept, const RefTensor *scales);
/// Scales of a matrix's rows as int8 codes, followed by the sums of the rows' codes.
RefTensor scalesOfRows(const RefTensor &matrix);
/// Weight as `type` stores it: rounded (floats), int8 codes, or dequantized values (i4). Types of
/// codes that files keep are stored as they are.
RefTensor storedAs(DType type, RefTensor weight);
/// Dequantized element of panels whose lines hold scales, by the rules of Support/Formats.h and independent of the
/// packing code; `row` is the stored row.
float unpackedCode(DType type, const std::byte *panels, int64_t columns, int64_t row,
                   int64_t column);

// ReferenceLosses.cpp
/// Loss and count of each row of logits: the loss and 1, or 0 and 0 if the id is padding.
RefTensor crossEntropyRows(const RefTensor &logits, const RefTensor &ids,
                           std::optional<uint64_t> padding, double smoothing = 0,
                           transformer::SmoothingOver over = transformer::SmoothingOver::All);
/// Target distribution of a row: 1 - smoothing for the id, the rest shared as `over` says.
std::vector<double> targetOf(int64_t classes, int64_t id, std::optional<uint64_t> padding,
                             double smoothing, transformer::SmoothingOver over);
/// Mean loss over the rows that count, from losses and counts as above; 0 if no row counts.
RefTensor crossEntropyMean(const RefTensor &rows);

// ReferenceOps.cpp
/// Results of an op without states; error for an unknown op.
Expected<std::vector<RefTensor>> resultsOf(mlir::Operation *op, const Lookup &lookup);

// ReferenceAttention.cpp: results in the order of the op, without absent optional ones.
Expected<std::vector<RefTensor>> attention(transformer::AttentionOp op, const Lookup &lookup);
Expected<std::vector<RefTensor>> attentionStatistics(transformer::AttentionStatisticsOp op,
                                                     const Lookup &lookup);
Expected<std::vector<RefTensor>> attentionWeights(transformer::AttentionWeightsOp op,
                                                  const Lookup &lookup);

// ReferenceExperts.cpp
/// Results of a router, of experts or of an op of their decomposition; none if the op is another
/// one.
std::optional<Expected<std::vector<RefTensor>>> expertsOf(mlir::Operation *op,
                                                          const Lookup &lookup);

// ReferenceGradients.cpp
/// Results of an op of the backward pass; none if the op is another one.
std::optional<Expected<std::vector<RefTensor>>> gradientsOf(mlir::Operation *op,
                                                            const Lookup &lookup);
/// Shape of the gradient to which an op adds.
std::vector<int64_t> shapeOf(transformer::WeightGradientOpInterface op, const Lookup &lookup);
/// Adds to the gradient of a weight.
void addGradient(transformer::WeightGradientOpInterface op, const Lookup &lookup,
                 RefTensor &gradient);

// ReferenceMaps.cpp
/// Result of an op over a feature map; none if the op is another one.
std::optional<RefTensor> mapsOf(mlir::Operation *op, const Lookup &lookup);

// ReferenceArith.cpp: constants and elementwise ops; error for an unknown op.
Expected<RefTensor> arithmetic(mlir::Operation *op, const Lookup &lookup);

} // namespace heddle::reference
