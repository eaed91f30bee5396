//===- RowOps.cpp - Ops over whole rows: norms, pooling, losses -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers and inferred types of ops over whole rows, as in
// TransformerOps.cpp.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "GatedBlocks.h"
#include "ShapeChecks.h"

#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using namespace heddle::transformer::detail;

//===- layer_norm, rms_norm ----------------------------------------------===//

LogicalResult transformer::detail::verifyEpsilon(Operation *op, StringRef constraint,
                                                 FloatAttr epsilon) {
  if (epsilon.getValue().isFinite() && !epsilon.getValue().isNegative())
    return success();
  return op->emitOpError(constraint)
         << ": expected a finite epsilon that is not negative, found " << epsilon;
}

/// Checks for one weight for each feature, or for each feature of each head.
LogicalResult transformer::detail::verifyNormWeight(Operation *op, StringRef constraint,
                                                    StringRef name, Value weight, Value input) {
  int64_t size = features(input);
  if (typeOf(weight).getRank() == 1)
    return verifySize(op, constraint, name, weight, "features of input", size);
  if (typeOf(input).getRank() != 4)
    return op->emitOpError(constraint) << ": expected " << name
                                       << " as a vector where input has no heads [batch, heads, "
                                          "rows, features], found rank 2";
  return verifyShape(op, constraint, name, weight, {dim(input, 1), size});
}

LogicalResult LayerNormOp::verify() {
  Operation *op = *this;
  RankedTensorType type = typeOf(getInput());
  return inOrder([&] { return verifyNormWeight(op, "C1", "gamma", getGamma(), getInput()); },
                 [&] {
                   return typeOf(getGamma()).getRank() == 1 && typeOf(getBeta()).getRank() == 1
                              ? verifySize(op, "C2", "beta", getBeta(), "features of input",
                                           features(getInput()))
                              : verifyShape(op, "C2", "beta", getBeta(),
                                            typeOf(getGamma()).getShape());
                 },
                 [&] {
                   return verifyShape(op, "C3", "the result", getResult(), type.getShape(),
                                      {type.getRank() - 1});
                 },
                 [&] { return verifyEpsilon(op, "C4", getEpsilonAttr()); });
}

LogicalResult RmsNormOp::verify() {
  Operation *op = *this;
  RankedTensorType type = typeOf(getInput());
  return inOrder([&] { return verifyNormWeight(op, "C1", "gamma", getGamma(), getInput()); },
                 [&] {
                   return verifyShape(op, "C2", "the result", getResult(), type.getShape(),
                                      {type.getRank() - 1});
                 },
                 [&] { return verifyEpsilon(op, "C3", getEpsilonAttr()); });
}

LogicalResult NormalizeOp::verify() {
  if (getEpsilon().isFinite() && !getEpsilon().isNegative() && !getEpsilon().isZero())
    return success();
  return emitOpError("C1: expected a finite epsilon above 0, found ") << getEpsilonAttr();
}

//===- softcap -----------------------------------------------------------===//

LogicalResult SoftcapOp::verify() {
  if (getCap().isFinite() && !getCap().isNegative() && !getCap().isZero())
    return success();
  return emitOpError("C1: expected a finite cap above 0, found ") << getCapAttr();
}

//===- gate --------------------------------------------------------------===//

LogicalResult GateOp::verify() { return verifyLimits(*this, "C1"); }

bool GateOp::takesWeight(OpOperand &) { return false; }

//===- xielu -------------------------------------------------------------===//

LogicalResult XieluOp::verify() {
  return verifySize(*this, "C1", "slopes", getSlopes(), "sides of 0", 2);
}

//===- scale -------------------------------------------------------------===//

LogicalResult ScaleRowsOp::verify() {
  RankedTensorType type = withFeatures(getInput(), 1);
  return verifyShape(*this, "C1", "factors", getFactors(), type.getShape(), {type.getRank() - 1});
}

bool ScaleRowsOp::takesWeight(OpOperand &) { return false; }

LogicalResult ScaleOp::verify() {
  if (getFactor().isFinite())
    return success();
  return emitOpError("C1: expected a finite factor, found ") << getFactorAttr();
}

//===- pool --------------------------------------------------------------===//

LogicalResult PoolOp::verify() {
  if (int64_t rank = typeOf(getInput()).getRank(); rank != 3)
    return emitOpError("C1: expected input of rank 3 [batch, rows, features], found rank ") << rank;
  if (getLengths()) {
    if (int64_t rank = typeOf(getLengths()).getRank(); rank != 1)
      return emitOpError("C2: expected lengths as a vector, found rank ") << rank;
    if (failed(verifySize(*this, "C2", "lengths", getLengths(), "the batch of input",
                          dim(getInput(), 0))))
      return failure();
  }
  if (getDocuments()) {
    if (int64_t rank = typeOf(getDocuments()).getRank(); rank != 1)
      return emitOpError("C3: expected documents as a vector of starts, found rank ") << rank;
    if (getLengths())
      return emitOpError("C3: expected documents or lengths, found both");
    if (dim(getDocuments(), 0) == 0)
      return emitOpError("C3: expected at least the end in documents, found no element");
    if (differ(dim(getInput(), 0), 1))
      return emitOpError("C3: expected packed documents in a batch of 1, found ")
             << dim(getInput(), 0);
  }
  if (getKinds().empty())
    return emitOpError("C5: expected at least one kind, found none");
  return verifyShape(*this, "C4", "the result", getResult(),
                     pooledShape(getInput(), getDocuments(), getKinds().size()), {1});
}

void PoolOp::inferShapes(SymbolicShapes &shapes) {
  Shape in = shapes.of(getInput());
  if (getLengths())
    shapes.require(shapes.of(getLengths())[0], in[0], "the lengths and the batch of a pooling");
  if (getDocuments())
    shapes.requireBatchOfOne(getInput());
  SizeExpr rows = getDocuments() ? shapes.of(getDocuments())[0] - 1 : in[0];
  shapes.set(getResult(), Shape{rows, in[2] * static_cast<int64_t>(getKinds().size())});
}

SizeExpr PoolOp::countFlops(const SymbolicShapes &) { return 0; }

void PoolOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  SizeExpr high = limits.shapes.of(getInput())[1] + 1;
  if (getDocuments() == operand.get())
    limits.addStarts(high);
  else if (getLengths() == operand.get())
    limits.addBelow(high);
}

//===- shift_right, cross_entropy ----------------------------------------===//

void ShiftRightOp::inferShapes(SymbolicShapes &shapes) {
  if (getDocuments())
    shapes.requireBatchOfOne(getIds());
  shapes.inferRows(*this);
}

// The result holds all ids but the last, after the start id, so its readers limit the ids as well.
void ShiftRightOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  if (operand.get() == getIds())
    limits.addReadersOf(getResult());
  else
    limits.addStarts(limits.shapes.of(getIds())[1] + 1);
}

LogicalResult ShiftRightOp::verify() {
  if (int64_t rank = typeOf(getIds()).getRank(); rank != 2)
    return emitOpError("C1: expected ids of rank 2 [batch, rows], found rank ") << rank;
  if (getStart() > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
    return emitOpError("C2: expected start to be an id of i32 that is not negative, found ")
           << static_cast<int64_t>(getStart());
  return verifyOrigin(*this, "C3", getDocuments(), /*offset=*/Value());
}

/// Checks the ids and the padding id of a loss.
LogicalResult transformer::detail::verifyReference(Operation *op, Value logits, Value ids,
                                                   std::optional<uint64_t> padding) {
  ArrayRef<int64_t> rows = typeOf(logits).getShape().drop_back();
  if (LogicalResult shape = verifyShape(op, "C1", "ids", ids, rows); failed(shape))
    return shape;
  if (padding && *padding >= static_cast<uint64_t>(features(logits)))
    return op->emitOpError("C2: expected padding_id below the ")
           << features(logits) << " columns, found " << static_cast<int64_t>(*padding);
  return success();
}

LogicalResult transformer::detail::verifySmoothing(Operation *op, FloatAttr smoothing,
                                                   SmoothingOver over,
                                                   std::optional<uint64_t> padding) {
  double share = smoothing ? smoothing.getValueAsDouble() : 0;
  if (!(share >= 0 && share < 1))
    return op->emitOpError("C4: expected a smoothing of at least 0 and below 1, found ")
           << smoothing;
  if (over == SmoothingOver::OthersButPadding && !padding)
    return op->emitOpError("C4: expected padding_id with others_but_padding, found none");
  return success();
}

static void requireReference(Value logits, Value ids, SymbolicShapes &shapes) {
  for (auto [row, id] : llvm::zip(shapes.of(logits), shapes.of(ids)))
    shapes.require(row, id, "the rows and the ids of a loss");
}

void CrossEntropyOp::inferShapes(SymbolicShapes &shapes) {
  requireReference(getLogits(), getIds(), shapes);
  shapes.inferRows(*this);
}

void CrossEntropyRowsOp::inferShapes(SymbolicShapes &shapes) {
  requireReference(getLogits(), getIds(), shapes);
  shapes.inferRows(*this);
}

void CrossEntropyOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  if (&operand == &getIdsMutable())
    limits.addBelow(features(getLogits()));
}

void CrossEntropyRowsOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  if (&operand == &getIdsMutable())
    limits.addBelow(features(getLogits()));
}

SizeExpr CrossEntropyMeanOp::countFlops(const SymbolicShapes &) { return 0; }

LogicalResult CrossEntropyOp::verify() {
  Operation *op = *this;
  return inOrder(
      [&] { return verifyReference(op, getLogits(), getIds(), getPaddingId()); },
      [&] { return verifyShape(op, "C3", "the result", getResult(), {1}, {0}); },
      [&] { return verifySmoothing(op, getSmoothingAttr(), getOver(), getPaddingId()); });
}

LogicalResult CrossEntropyRowsOp::verify() {
  Operation *op = *this;
  RankedTensorType type = withFeatures(getLogits(), 2);
  return inOrder([&] { return verifyReference(op, getLogits(), getIds(), getPaddingId()); },
                 [&] {
                   return verifyShape(op, "C3", "the result", getResult(), type.getShape(),
                                      {type.getRank() - 1});
                 });
}

LogicalResult CrossEntropyMeanOp::verify() {
  if (int64_t found = features(getRows()); found != 2)
    return emitOpError("C1: expected rows of 2 features, found ") << found;
  return verifyShape(*this, "C2", "the result", getResult(), {1}, {0});
}
