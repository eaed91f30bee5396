//===- GradientOps.cpp - Verifiers of gradients ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builders, verifiers and symbolic shapes of the ops of the backward pass.

#include "AttentionRules.h"
#include "GatedBlocks.h"
#include "ShapeChecks.h"

#include "heddle/Dialect/Transformer/IR/DropoutSites.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using namespace heddle::transformer::detail;

//===- Gradients of weights ----------------------------------------------===//

static LogicalResult verifyName(WeightGradientOpInterface op) {
  if (!op.getName().empty())
    return success();
  return op->emitOpError("C1: expected the name of a tensor, found an empty one");
}

static LogicalResult verifyTable(Operation *op, int64_t size, std::optional<uint64_t> padding) {
  if (size <= 0)
    return op->emitOpError("C3: expected a positive size, found ") << size;
  if (padding && *padding >= static_cast<uint64_t>(size))
    return op->emitOpError("C3: expected padding_id below the ")
           << size << " rows of the table, found " << static_cast<int64_t>(*padding);
  return success();
}

LogicalResult GradientProductOp::verify() {
  return inOrder([&] { return verifyName(*this); },
                 [&] {
                   ArrayRef<int64_t> rows = typeOf(getGradient()).getShape().drop_back();
                   SmallVector<int64_t> shape(rows);
                   shape.push_back(features(getInput()));
                   return verifyShape(*this, "C2", "input", getInput(), shape);
                 });
}

SizeExpr GradientProductOp::countFlops(const SymbolicShapes &shapes) {
  return product(shapes.of(getGradient())) * (2 * features(getInput()));
}

LogicalResult GradientColumnsOp::verify() {
  if (failed(verifyName(*this)))
    return failure();
  int64_t rank = typeOf(getGradient()).getRank();
  if (getOfHeads() && rank != 4)
    return emitOpError(
               "C2: expected gradient of rank 4 [batch, heads, rows, features], found rank ")
           << rank;
  return success();
}

LogicalResult GradientRowsOp::verify() {
  return inOrder(
      [&] { return verifyName(*this); },
      [&] {
        return verifyShape(*this, "C2", "ids", getIds(),
                           typeOf(getGradient()).getShape().drop_back());
      },
      [&] { return verifyTable(*this, static_cast<int64_t>(getSize()), getPaddingId()); });
}

void GradientRowsOp::inferShapes(SymbolicShapes &shapes) {
  for (auto [row, id] : llvm::zip(shapes.of(getGradient()), shapes.of(getIds())))
    shapes.require(row, id, "the rows and the ids of a gradient");
}

void GradientRowsOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  if (&operand == &getIdsMutable())
    limits.addBelow(static_cast<int64_t>(getSize()));
}

LogicalResult GradientPositionsOp::verify() {
  if (failed(verifyName(*this)))
    return failure();
  RankedTensorType type = typeOf(getGradient());
  if (type.getRank() != 3)
    return emitOpError("C2: expected gradient of rank 3 [batch, rows, features], found rank ")
           << type.getRank();
  auto size = static_cast<int64_t>(getSize());
  int64_t rows = type.getDimSize(1);
  if (size > 0 && !getDocuments() && !ShapedType::isDynamic(rows) && rows > size)
    return emitOpError("C3: expected at most ")
           << size << " rows, which the table has, found " << rows;
  return verifyTable(*this, size, std::nullopt);
}

void GradientPositionsOp::inferShapes(SymbolicShapes &shapes) {
  if (getDocuments())
    shapes.requireBatchOfOne(getGradient());
}

void GradientPositionsOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  limitStarts(getDocuments(), getGradient(), operand, limits, static_cast<int64_t>(getSize()));
}

Value GradientPositionsOp::documentStarts() { return getDocuments(); }

//===- The update --------------------------------------------------------===//

void OptimizerOp::inferShapes(SymbolicShapes &) {}

void GradientJoinOp::inferShapes(SymbolicShapes &) {}

LogicalResult GradientJoinOp::verify() {
  if (!getName().empty() && static_cast<int64_t>(getUse()) > 0)
    return success();
  return emitOpError("C1: expected the name of a tensor and a positive use, found \"")
         << getName() << "\" and " << static_cast<int64_t>(getUse());
}

void GradientNormOp::inferShapes(SymbolicShapes &shapes) { shapes.set(getResult(), {1}); }

LogicalResult GradientNormOp::verify() {
  return verifyShape(*this, "C1", "the result", getResult(), {1});
}

//===- dropout, row_numbers ----------------------------------------------===//

LogicalResult DropoutOp::verify() {
  double probability = getProbability().convertToDouble();
  if (!(probability >= 0 && probability < 1))
    return emitOpError("C1: expected a probability of at least 0 and below 1, found ")
           << getProbabilityAttr();
  const bool hasKey = static_cast<bool>(getKey());
  if (hasKey != static_cast<bool>(getRows()) || hasKey != static_cast<bool>(getSite()))
    return emitOpError("C2: expected key, rows and site together, found some of them");
  if (hasKey && getDocuments())
    return emitOpError("C4: expected documents or a key, found both");
  if (!hasKey)
    return verifyOrigin(*this, "C4", getDocuments(), /*offset=*/Value());
  SmallVector<int64_t> shape(typeOf(getInput()).getShape());
  shape.back() = 2;
  return verifyShape(*this, "C3", "rows", getRows(), shape);
}

bool DropoutOp::takesWeight(OpOperand &) { return false; }

Value heddle::transformer::siteOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<DropoutOp, AttentionOp, AttentionQueryGradientOp, AttentionKeyGradientOp>(
          [](auto drops) -> Value { return drops.getSite(); })
      .Default(Value());
}

LogicalResult RowNumbersOp::verify() {
  int64_t rank = typeOf(getLike()).getRank();
  if (rank != 3 && (rank != 2 || getDocuments()))
    return emitOpError("C1: expected like of rank ")
           << (getDocuments() ? "3" : "2 or 3") << ", found rank " << rank;
  SmallVector<int64_t> shape(typeOf(getLike()).getShape());
  shape.back() = 2;
  return verifyShape(*this, "C2", "the result", getResult(), shape, {rank - 1});
}

void RowNumbersOp::inferShapes(SymbolicShapes &shapes) {
  Shape shape = shapes.of(getLike());
  shapes.require(shapes.of(getExamples())[0],
                 getDocuments() ? shapes.of(getDocuments())[0] - 1 : shape[0],
                 "the examples and the sequences of a dropout");
  shape.back() = 2;
  shapes.set(getResult(), std::move(shape));
}

Value RowNumbersOp::documentStarts() { return getDocuments(); }

void RowNumbersOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  limitStarts(getDocuments(), getLike(), operand, limits);
}

//===- Products and elementwise functions --------------------------------===//

LogicalResult LinearTransposedOp::verify() {
  RankedTensorType type = withFeatures(getInput(), dim(getWeight(), 1));
  return inOrder(
      [&] {
        return verifyEqual(*this, "C1", "rows of weight", dim(getWeight(), 0), "features of input",
                           features(getInput()));
      },
      [&] {
        return verifyShape(*this, "C2", "the result", getResult(), type.getShape(),
                           {type.getRank() - 1});
      });
}

LogicalResult TransposeOp::verify() {
  return verifyShape(*this, "C1", "the result", getResult(),
                     {dim(getWeight(), 1), dim(getWeight(), 0)});
}

void TransposeOp::inferShapes(SymbolicShapes &shapes) {
  const Shape weight = shapes.of(getWeight());
  shapes.set(getResult(), {weight[1], weight[0]});
}

bool TransposeOp::takesWeight(OpOperand &) { return true; }

OperandStorage TransposeOp::storageOf(OpOperand &) { return OperandStorage::Panels; }

void LinearTransposedOp::decompose() {
  OpBuilder b(*this);
  auto matrix = TransposeOp::create(b, getLoc(), getWeight());
  auto product = LinearOp::create(b, getLoc(), getInput(), matrix, Value(), Activation::None);
  replaceAllUsesWith(product.getResult());
  erase();
}

OperandStorage LinearTransposedOp::storageOf(OpOperand &operand) {
  return &operand == &getWeightMutable() ? OperandStorage::Panels : storageByRank(operand);
}

SizeExpr LinearTransposedOp::countFlops(const SymbolicShapes &shapes) {
  return product(shapes.of(getResult())) * (2 * features(getInput()));
}

LogicalResult ActivationGradientOp::verify() {
  using enum Activation;
  if (!getOfResult() || llvm::is_contained({None, Relu, Relu6, Tanh, Sigmoid}, getActivation()))
    return success();
  return emitOpError("C1: expected none, relu, relu6, tanh or sigmoid with of_result, found ")
         << stringifyActivation(getActivation());
}

LogicalResult GateGradientOp::verify() { return verifyLimits(*this, "C1"); }

LogicalResult SoftcapGradientOp::verify() {
  if (getCap().isFinite() && !getCap().isNegative() && !getCap().isZero())
    return success();
  return emitOpError("C1: expected a finite cap above 0, found ") << getCapAttr();
}

//===- Rows --------------------------------------------------------------===//

LogicalResult NormGradientOp::verify() {
  if (Value gamma = getGamma()) {
    if (getKind() == Normalization::Length)
      return emitOpError("C1: expected no gamma with length, found one");
    if (failed(verifyNormWeight(*this, "C1", "gamma", gamma, getInput())))
      return failure();
  }
  if (failed(verifyShape(*this, "C1", "scaled", getScaled(), typeOf(getInput()).getShape())))
    return failure();
  return verifyEpsilon(*this, "C2", getEpsilonAttr());
}

LogicalResult PoolGradientOp::verify() {
  return verifyShape(*this, "C1", "gradient", getGradient(),
                     pooledShape(getInput(), getDocuments(), getKinds().size()));
}

void PoolGradientOp::inferShapes(SymbolicShapes &shapes) {
  shapes.set(getResult(), shapes.of(getInput()));
}

SizeExpr PoolGradientOp::countFlops(const SymbolicShapes &) { return 0; }

void PoolGradientOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  SizeExpr high = limits.shapes.of(getInput())[1] + 1;
  if (getDocuments() == operand.get())
    limits.addStarts(high);
  else if (getLengths() == operand.get())
    limits.addBelow(high);
}

//===- Losses ------------------------------------------------------------===//

LogicalResult CrossEntropyGradientOp::verify() {
  Operation *op = *this;
  return inOrder(
      [&] { return verifyReference(op, getLogits(), getIds(), getPaddingId()); },
      [&] {
        RankedTensorType type = withFeatures(getLogits(), 2);
        return verifyShape(op, "C3", "rows", getRows(), type.getShape(), {type.getRank() - 1});
      },
      [&] { return verifySmoothing(op, getSmoothingAttr(), getOver(), getPaddingId()); });
}

void CrossEntropyGradientOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  if (&operand == &getIdsMutable())
    limits.addBelow(features(getLogits()));
}

LogicalResult CrossEntropySumOp::verify() {
  if (int64_t found = features(getRows()); found != 2)
    return emitOpError("C1: expected rows of 2 features, found ") << found;
  return inOrder([&] { return verifyShape(*this, "C2", "sum", getSum(), {1}, {0}); },
                 [&] { return verifyShape(*this, "C2", "count", getCount(), {1}, {0}); });
}

SizeExpr CrossEntropySumOp::countFlops(const SymbolicShapes &) { return 0; }

//===- Attention ---------------------------------------------------------===//

void AttentionQueryGradientOp::build(OpBuilder &builder, OperationState &state, AttentionOp op,
                                     Value gradient, AttentionStatisticsOp statistics) {
  build(builder, state, op.getQuery().getType(), statistics.getMaximum().getType(), op.getQuery(),
        op.getKey(), op.getValue(), gradient, op.getOutput(), statistics.getMaximum(),
        statistics.getSum(), op.getMask(), op.getBias(), op.getDropoutKey(), op.getExamples(),
        op.getSite(), /*rows=*/ValueRange(), op.getScaleAttr(), op.getSoftcapAttr(),
        op.getHiddenScoreAttr(), op.getDropoutAttr());
}

void AttentionKeyGradientOp::build(OpBuilder &builder, OperationState &state, AttentionOp op,
                                   Value gradient, AttentionStatisticsOp statistics, Value delta) {
  build(builder, state, op.getKey().getType(), op.getValue().getType(), op.getQuery(), op.getKey(),
        op.getValue(), gradient, statistics.getMaximum(), statistics.getSum(), delta, op.getMask(),
        op.getBias(), op.getDropoutKey(), op.getExamples(), op.getSite(), /*rows=*/ValueRange(),
        op.getScaleAttr(), op.getSoftcapAttr(), op.getHiddenScoreAttr(), op.getDropoutAttr());
}

void AttentionQueryGradientOp::addRows() { getRowsMutable().assign(getKey()); }

void AttentionKeyGradientOp::addRows() { getRowsMutable().assign({getQuery(), getGradient()}); }

/// Checks the operands that both gradients of an attention have. `repeated` are the values of the
/// operands `rows`.
template <typename Op>
static LogicalResult verifyGradient(Op op, std::initializer_list<Value> rows,
                                    std::initializer_list<Value> outputs, ValueRange repeated) {
  RankedTensorType query = typeOf(op.getQuery()), key = typeOf(op.getKey());
  if (failed(verifyDropout(op)))
    return failure();
  SmallVector<int64_t> output(query.getShape());
  output.back() = features(op.getValue());
  for (Value value : outputs)
    if (failed(verifyShape(op, "C1", "gradient and output", value, output)))
      return failure();
  for (Value value : rows)
    if (failed(
            verifyShape(op, "C2", "maximum, sum and delta", value, query.getShape().drop_back())))
      return failure();
  if (query.getDimSize(1) % key.getDimSize(1) != 0)
    return op.emitOpError("C3: expected key heads that divide query heads ")
           << query.getDimSize(1) << ", found " << key.getDimSize(1);
  SmallVector<int64_t> value(key.getShape());
  value.back() = features(op.getValue());
  if (failed(verifyShape(op, "C3", "value", op.getValue(), value)))
    return failure();
  if (!op.getRows().empty() && op.getRows().getTypes() != repeated.getTypes())
    return op.emitOpError("C4: expected rows of ")
           << repeated.getTypes() << ", found " << op.getRows().getTypes();
  return verifyRules(
      op, {query.getDimSize(0), query.getDimSize(1), query.getDimSize(2), key.getDimSize(2)},
      op.getMask(), op.getRules());
}

LogicalResult AttentionQueryGradientOp::verify() {
  return verifyGradient(*this, {getMaximum(), getSum(), getDelta()}, {getGradient(), getOutput()},
                        {getKey()});
}

LogicalResult AttentionKeyGradientOp::verify() {
  return verifyGradient(*this, {getMaximum(), getSum(), getDelta()}, {getGradient()},
                        {getQuery(), getGradient()});
}

void AttentionQueryGradientOp::inferShapes(SymbolicShapes &shapes) {
  Shape rows = shapes.of(getQuery());
  shapes.set(getResult(), rows);
  rows.pop_back();
  shapes.set(getDelta(), rows);
}

void AttentionKeyGradientOp::inferShapes(SymbolicShapes &shapes) {
  shapes.set(getKeyGradient(), shapes.of(getKey()));
  shapes.set(getValueGradient(), shapes.of(getValue()));
}

/// Flops of `products` products of queries and keys.
template <typename Op>
static SizeExpr flopsOf(Op op, const SymbolicShapes &shapes, int64_t ofKeys, int64_t ofValues) {
  const Shape &q = shapes.of(op.getQuery()), &k = shapes.of(op.getKey());
  return q[0] * q[1] * q[2] * k[2] *
         (ofKeys * features(op.getKey()) + ofValues * features(op.getValue())) * 2;
}

SizeExpr AttentionQueryGradientOp::countFlops(const SymbolicShapes &shapes) {
  return flopsOf(*this, shapes, 2, 1);
}

SizeExpr AttentionKeyGradientOp::countFlops(const SymbolicShapes &shapes) {
  return flopsOf(*this, shapes, 2, 2);
}
