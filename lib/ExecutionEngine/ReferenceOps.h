//===- ReferenceOps.h - Parts of the reference interpreter -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function an op, from values to values; the interpreter in Reference.cpp
// finds operands, keeps states and calls these.
#pragma once

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/ExecutionEngine/Reference.h"

#include <optional>

namespace heddle::reference {

/// Values are never changed once made.
using Ref = std::shared_ptr<const RefTensor>;
/// The value of an SSA value of tensor, integer or float type.
using Lookup = std::function<const RefTensor &(mlir::Value)>;

/// An error at an op: "x.mlir:3:5: 'transformer.linear': expected ..., found ...".
Error errorAt(mlir::Operation *op, const std::string &message);
std::string shapeText(const std::vector<int64_t> &shape);
int64_t elementCount(const std::vector<int64_t> &shape);

double activate(transformer::Activation activation, double x);
/// A number as `type` holds it: rounded to nearest, ties to even, where it is narrower than f32.
double roundedTo(DType type, double x);
/// The element type of a tensor's or number's values; none where the reference has no such values.
std::optional<DType> elementType(mlir::Type type);

// ReferenceOps.cpp
Expected<RefTensor> embedding(transformer::EmbeddingOp op, const RefTensor &ids,
                              const RefTensor &table);
/// `starts`: where packed documents begin, or null.
/// An error where a row has no position in the table.
Expected<RefTensor> learned(transformer::PositionLearnedOp op, const RefTensor &input,
                            const RefTensor &table, int64_t offset, const RefTensor *starts);
RefTensor sinusoidal(transformer::PositionSinusoidalOp op, const RefTensor &input, int64_t offset,
                     const RefTensor *starts);
RefTensor linear(const RefTensor &input, const RefTensor &weight, const RefTensor *bias,
                 transformer::Activation activation);
/// The same of operands that are codes: of each row of `input`, and of `weight`, which has a second
/// row of scales that the reference does not need; null where it is what it is.
RefTensor linearOfCodes(const RefTensor &input, const RefTensor &inputScales,
                        const RefTensor &weight, const RefTensor *weightScales,
                        const RefTensor *bias, transformer::Activation activation);
RefTensor roundedTo(DType type, RefTensor value);
/// Rows as codes, and what they stand for: a scale a row.
struct RefCodes {
  RefTensor codes, scales;
};
RefCodes quantize(const RefTensor &input);
/// The same as f16: numbers of which the largest lies in [1, 2).
RefCodes quantizeToHalves(const RefTensor &input);
/// A matrix as what its codes of 4 bits stand for.
RefTensor inNibbles(RefTensor matrix);
/// `lengths` and `starts` may be null.
RefTensor pool(transformer::Pooling kind, const RefTensor &input, const RefTensor *lengths,
               const RefTensor *starts);
/// Pixels of squares of `side` by `side`, one square a row.
RefTensor patches(const RefTensor &image, int64_t side);
/// The rows of `first` before those of every sentence.
RefTensor concat(const RefTensor &first, const RefTensor &rows);
RefTensor rmsNorm(transformer::RmsNormOp op, const RefTensor &input, const RefTensor &gamma);
RefTensor softmax(const RefTensor &input);
/// A loss and 1 for each row; 0 and 0 where the id is `padding`.
RefTensor crossEntropyRows(const RefTensor &logits, const RefTensor &ids,
                           std::optional<int64_t> padding);
RefTensor crossEntropyMean(const RefTensor &rows);
RefTensor shiftRight(const RefTensor &ids, int64_t start);
RefTensor layerNorm(transformer::LayerNormOp op, const RefTensor &input, const RefTensor &gamma,
                    const RefTensor &beta);
RefTensor splitHeads(const RefTensor &input, int64_t heads);
RefTensor mergeHeads(const RefTensor &input);
/// `before` and `rows` along dimension 2.
RefTensor appendRows(const RefTensor &before, const RefTensor &rows);
/// The first two dimensions exchanged.
RefTensor exchangeFirstTwo(const RefTensor &value);
/// Rows `parents` of dimension 0.
RefTensor takeRows(const RefTensor &value, const std::vector<int64_t> &parents);

// ReferenceAttention.cpp: results in the order of the op, those that it has.
Expected<std::vector<RefTensor>> attention(transformer::AttentionOp op, const Lookup &lookup);
Expected<std::vector<RefTensor>> attentionStatistics(transformer::AttentionStatisticsOp op,
                                                     const Lookup &lookup);
Expected<std::vector<RefTensor>> attentionWeights(transformer::AttentionWeightsOp op,
                                                  const Lookup &lookup);

// ReferenceArith.cpp: constants and elementwise ops; an op without a meaning here is an error.
Expected<RefTensor> arithmetic(mlir::Operation *op, const Lookup &lookup);

} // namespace heddle::reference
