//===- ReferenceOps.h - Parts of the reference interpreter -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values, and what ops make of them; the interpreter in Reference.cpp walks
// functions and keeps states.
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
int64_t elementCount(const std::vector<int64_t> &shape);

/// A number as `type` holds it: rounded to nearest, ties to even, where it is narrower than f32.
double roundedTo(DType type, double x);
/// The element type of a tensor's or number's values; none where the reference has no such values.
std::optional<DType> elementType(mlir::Type type);

double activate(transformer::Activation activation, double x);

// ReferenceFormats.cpp
RefTensor make(std::vector<int64_t> shape, DType type = DType::F32);
/// Rows of a tensor: all dimensions but the last. Empty features make no rows.
int64_t rowCount(const RefTensor &t);
/// Weights of convolutions lie in memory like the matrices that they are.
RefTensor linear(const RefTensor &input, const RefTensor &weight, const RefTensor *bias,
                 transformer::Activation activation);
/// What codes stand for that have a scale a row, if there are scales; those of a weight have a second
/// row, which is not needed here.
RefTensor decoded(RefTensor codes, const RefTensor *scales);
RefTensor roundedTo(DType type, RefTensor value);
/// Rows as codes, and what they stand for: a scale a row.
struct RefCodes {
  RefTensor codes, scales;
};
RefCodes quantize(transformer::QuantizeOp op, const RefTensor &input);
/// The scale of each row of a matrix as codes of 8 bits, then the sum of its codes.
RefTensor scalesOfRows(const RefTensor &matrix);
/// A weight's values as `type` stores them: rounded, or codes, or what codes beside scales stand for.
RefTensor storedAs(DType type, RefTensor weight);
/// What a code of i4 in panels stands for, written from the rules of Support/Formats.h and not from
/// the code that packs; `row` counts as rows are stored.
float unpackedCode(const std::byte *panels, int64_t columns, int64_t row, int64_t column);

// ReferenceOps.cpp
/// The results of an op that keeps nothing; an op without a meaning is an error.
Expected<std::vector<RefTensor>> resultsOf(mlir::Operation *op, const Lookup &lookup);

// ReferenceAttention.cpp: results in the order of the op, those that it has.
Expected<std::vector<RefTensor>> attention(transformer::AttentionOp op, const Lookup &lookup);
Expected<std::vector<RefTensor>> attentionStatistics(transformer::AttentionStatisticsOp op,
                                                     const Lookup &lookup);
Expected<std::vector<RefTensor>> attentionWeights(transformer::AttentionWeightsOp op,
                                                  const Lookup &lookup);

// ReferenceArith.cpp: constants and elementwise ops; an op without a meaning here is an error.
Expected<RefTensor> arithmetic(mlir::Operation *op, const Lookup &lookup);

} // namespace heddle::reference
