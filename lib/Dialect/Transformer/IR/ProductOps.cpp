//===- ProductOps.cpp - Products with weights -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers and interfaces of linear, ffn and conv1x1, and the decomposition of
// ffn.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "GatedBlocks.h"
#include "ShapeChecks.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using namespace heddle::transformer::detail;

/// C7 and C8 of a product whose rows are divided into groups.
static LogicalResult verifyGroups(LinearOp op) {
  const bool hasGroups = static_cast<bool>(op.getStarts());
  if (hasGroups != op.getGroupCount().has_value())
    return op.emitOpError("C7: expected group_count with groups alone, found ")
           << (hasGroups ? "groups without it" : "no groups");
  if (!hasGroups)
    return success();
  const int64_t groups = op.getGroups(), rows = dim(op.getWeight(), 0);
  if (groups < 1 || rows % (16 * groups) != 0)
    return op.emitOpError("C7: expected a multiple of 16 rows of weight for each of ")
           << groups << " groups, found " << rows;
  if (int64_t rank = typeOf(op.getInput()).getRank(); rank != 2)
    return op.emitOpError("C7: expected input of rank 2 with groups, found rank ") << rank;
  return inOrder(
      [&] {
        return verifyEqual(op, "C8", "size of starts", dim(op.getStarts(), 0), "groups + 1",
                           groups + 1);
      },
      [&] {
        return verifyEqual(op, "C8", "size of numbers", dim(op.getNumbers(), 0), "groups", groups);
      });
}

LogicalResult LinearOp::verify() {
  Operation *op = *this;
  if (failed(verifyGroups(*this)))
    return failure();
  int64_t rows = dim(getWeight(), 0);
  RankedTensorType type = withFeatures(getInput(), rows / getGroups());
  return inOrder(
      [&] {
        return verifyColumns(op, "C1", "weight", getWeight(), "features of input",
                             features(getInput()));
      },
      [&] { return verifySize(op, "C2", "bias", getBias(), "rows of weight", rows); },
      [&] {
        return verifyShape(op, "C3", "the result", getResult(), type.getShape(),
                           {type.getRank() - 1});
      },
      [&] { return verifyElements(op, "C4", "weight", getWeight(), getInput()); },
      [&] { return verifyCodes(*this); });
}

LogicalResult HeadProductsOp::verify() {
  Operation *op = *this;
  int64_t heads = dim(getInput(), 1), rows = dim(getWeight(), 0);
  return inOrder(
      [&] {
        return verifyColumns(op, "C1", "weight", getWeight(), "features of input",
                             features(getInput()));
      },
      [&]() -> LogicalResult {
        if (rows % (16 * heads) == 0)
          return success();
        return emitOpError("C2: expected a multiple of 16 rows of weight for each of ")
               << heads << " heads, found " << rows;
      },
      [&] {
        return verifyShape(op, "C3", "the result", getResult(),
                           withFeatures(getInput(), rows / heads).getShape(), {1, 3});
      },
      [&] { return verifyElements(op, "C4", "weight", getWeight(), getInput()); },
      [&]() -> LogicalResult {
        if (getScale().isFinite())
          return success();
        return emitOpError("C5: expected a finite scale, found ") << getScaleAttr();
      });
}

/// C6 to C8 of a gated block.
static LogicalResult verifyGate(FfnOp op, Value gate) {
  return inOrder([&] { return verifyElements(op, "C6", "gate_weight", gate, op.getInput()); },
                 [&] {
                   return verifyColumns(op, "C7", "gate_weight", gate, "features of input",
                                        features(op.getInput()));
                 },
                 [&] {
                   return verifyEqual(op, "C7", "rows of gate_weight", dim(gate, 0),
                                      "rows of in_weight", dim(op.getInWeight(), 0));
                 },
                 [&] {
                   return verifySize(op, "C8", "gate_bias", op.getGateBias(), "rows of gate_weight",
                                     dim(gate, 0));
                 });
}

LogicalResult FfnOp::verify() {
  Operation *op = *this;
  int64_t hidden = dim(getInWeight(), 0), rows = dim(getOutWeight(), 0);
  RankedTensorType type = withFeatures(getInput(), rows);
  return inOrder(
      [&] {
        return verifyColumns(op, "C1", "in_weight", getInWeight(), "features of input",
                             features(getInput()));
      },
      [&] { return verifySize(op, "C2", "in_bias", getInBias(), "rows of in_weight", hidden); },
      [&] {
        return verifyColumns(op, "C3", "out_weight", getOutWeight(), "rows of in_weight", hidden);
      },
      [&] { return verifySize(op, "C4", "out_bias", getOutBias(), "rows of out_weight", rows); },
      [&] {
        return verifyShape(op, "C5", "the result", getResult(), type.getShape(),
                           {type.getRank() - 1});
      },
      [&] { return verifyElements(op, "C6", "in_weight", getInWeight(), getInput()); },
      [&] { return verifyElements(op, "C6", "out_weight", getOutWeight(), getInput()); },
      [&]() -> LogicalResult {
        if (Value gate = getGateWeight())
          return verifyGate(*this, gate);
        return getGateBias() ? emitOpError("C8: expected gate_weight with gate_bias, found none")
                             : success();
      },
      [&] { return verifyBlockLimits(*this, "C9"); });
}

void FfnOp::decompose() {
  OpBuilder b(*this);
  Value hidden = hiddenFeatures(*this, b, [&](Value weight, Value bias, Activation activation) {
    return LinearOp::create(b, getLoc(), getInput(), weight, bias, activation);
  });
  // Round the input of the second product to the type of the first product's input.
  hidden = roundedTo(b, getLoc(), hidden, getElementTypeOrSelf(getInput()));
  // Keep the written result type, which may be more precise than the inferred one.
  Value result = LinearOp::create(b, getLoc(), getType(), hidden, getOutWeight(), getOutBias(),
                                  Activation::None);
  replaceAllUsesWith(result);
  erase();
}

LogicalResult Conv1x1Op::verify() {
  Operation *op = *this;
  int64_t outputs = dim(getWeight(), 0), kernel = dim(getWeight(), 2);
  RankedTensorType type = withFeatures(getInput(), outputs);
  LogicalResult shapes = inOrder(
      [&] {
        return verifyEqual(op, "C1", "input channels of weight", dim(getWeight(), 1),
                           "features of input", features(getInput()));
      },
      [&] { return verifySize(op, "C2", "bias", getBias(), "output channels of weight", outputs); },
      [&] {
        return verifyShape(op, "C3", "the result", getResult(), type.getShape(),
                           {type.getRank() - 1});
      });
  if (succeeded(shapes) && kernel != 1)
    return emitOpError("C4: expected a kernel of size 1, found ") << kernel;
  return shapes;
}

void LinearOp::setGroups(Value starts, Value numbers, int64_t count) {
  getStartsMutable().assign(starts);
  getNumbersMutable().assign(numbers);
  setGroupCount(static_cast<uint64_t>(count));
  getResult().setType(withFeatures(getInput(), rowsOfGroup(getWeight(), count)));
}

/// Storage of a product's operand: matrices are packed in panels, others are stored by rank.
static OperandStorage storageIn(OpOperand &operand, std::initializer_list<OpOperand *> matrices) {
  return llvm::is_contained(matrices, &operand) ? OperandStorage::Panels : storageByRank(operand);
}

std::optional<RowGroups> LinearOp::rowGroups() {
  if (!getStarts())
    return std::nullopt;
  return RowGroups{getStarts(), getWeight(), getGroups()};
}

OperandStorage LinearOp::storageOf(OpOperand &operand) {
  return storageIn(operand, {&getWeightMutable()});
}

OperandStorage HeadProductsOp::storageOf(OpOperand &operand) {
  return storageIn(operand, {&getWeightMutable()});
}

OperandStorage FfnOp::storageOf(OpOperand &operand) {
  bool isGate = getGateWeight() && operand.get() == getGateWeight();
  return isGate ? OperandStorage::Panels
                : storageIn(operand, {&getInWeightMutable(), &getOutWeightMutable()});
}

OperandStorage Conv1x1Op::storageOf(OpOperand &operand) {
  return storageIn(operand, {&getWeightMutable()});
}

OperandStorage PatchEmbeddingOp::storageOf(OpOperand &operand) {
  return storageIn(operand, {&getWeightMutable()});
}

SizeExpr LinearOp::countFlops(const SymbolicShapes &shapes) {
  return product(shapes.of(getResult())) * (2 * features(getInput()));
}

SizeExpr HeadProductsOp::countFlops(const SymbolicShapes &shapes) {
  return product(shapes.of(getResult())) * (2 * features(getInput()));
}
