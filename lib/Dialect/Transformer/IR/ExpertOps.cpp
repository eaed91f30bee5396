//===- ExpertOps.cpp - Mixtures of experts --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers and shapes of `route`, `experts` and the ops of its decomposition,
// and the decomposition.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "GatedBlocks.h"
#include "ShapeChecks.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using namespace heddle::transformer::detail;

/// Product of the leading dimensions of rows of features.
static SizeExpr rowsOf(const Shape &shape) { return product(ArrayRef(shape).drop_back()); }

//===- route -------------------------------------------------------------===//

/// C5: the groups of experts.
static LogicalResult verifyGroups(RouteOp op, int64_t experts) {
  constexpr int64_t most = 64;
  const auto groups = static_cast<int64_t>(op.getGroups()),
             used = static_cast<int64_t>(op.getUsedGroups());
  if (groups < 1 || groups > most || experts % groups != 0)
    return op.emitOpError("C5: expected at least 1 and at most 64 groups that divide ")
           << experts << " experts, found " << groups;
  if (used < 1 || used > groups)
    return op.emitOpError("C5: expected used_groups of at least 1 and at most ")
           << groups << ", found " << used;
  if (const int64_t usable = experts / groups * used; static_cast<int64_t>(op.getCount()) > usable)
    return op.emitOpError("C5: expected a count of at most ")
           << usable << ", the experts of used_groups, found " << op.getCount();
  return success();
}

/// C6 and C7: the jitter, and the clauses that a sparse mixer excludes.
static LogicalResult verifyMixer(RouteOp op) {
  if (!op.getJitter().isFinite() || op.getJitter() < llvm::APFloat(0.0F))
    return op.emitOpError("C6: expected a finite jitter of at least 0, found ")
           << op.getJitterAttr();
  if (op.getScore() == RouterScore::SparseMixer &&
      (op.getCorrection() || op.getNormalise() || op.getGroups() != 1))
    return op.emitOpError("C7: expected no correction, no normalise and one group with a "
                          "sparse_mixer, found ")
           << (op.getCorrection()  ? "a correction"
               : op.getNormalise() ? "normalise"
                                   : "groups");
  return success();
}

LogicalResult RouteOp::verify() {
  const int64_t experts = features(getLogits()), count = static_cast<int64_t>(getCount());
  if (count < 1 || count > experts)
    return emitOpError("C1: expected a count of at least 1 and at most ")
           << experts << " experts, found " << count;
  const SmallVector<int64_t> shape{count, ShapedType::kDynamic};
  return inOrder(
      [&] { return verifySize(*this, "C2", "correction", getCorrection(), "experts", experts); },
      [&] { return verifyShape(*this, "C3", "experts", getExperts(), shape, {0}); },
      [&] { return verifyShape(*this, "C3", "weights", getWeights(), shape, {0}); },
      [&]() -> LogicalResult {
        if (getScale().isFinite() && !getScale().isZero())
          return success();
        return emitOpError("C4: expected a finite scale that is not 0, found ") << getScaleAttr();
      },
      [&] { return verifyGroups(*this, experts); }, [&] { return verifyMixer(*this); });
}

void RouteOp::inferShapes(SymbolicShapes &shapes) {
  const Shape chosen{static_cast<int64_t>(getCount()), rowsOf(shapes.of(getLogits()))};
  shapes.set(getExperts(), chosen);
  shapes.set(getWeights(), chosen);
}

//===- experts -----------------------------------------------------------===//

/// C2: the rows of each expert in a stacked matrix.
static LogicalResult verifyStacked(ExpertsOp op, StringRef name, Value matrix) {
  const int64_t count = static_cast<int64_t>(op.getCount()), rows = dim(matrix, 0);
  if (count >= 1 && rows % (16 * count) == 0)
    return success();
  return op.emitOpError("C2: expected a multiple of 16 rows of ")
         << name << " for each of " << count << " experts, found " << rows;
}

/// C4: the matrix and the bias of a gate.
static LogicalResult verifyGate(ExpertsOp op) {
  Value gate = op.getGateWeight();
  if (!gate)
    return op.getGateBias() ? op.emitOpError("C4: expected gate_weight with gate_bias, found none")
                            : success();
  return verifyShape(op, "C4", "gate_weight", gate, typeOf(op.getInWeight()).getShape());
}

LogicalResult ExpertsOp::verify() {
  Operation *op = *this;
  const auto count = static_cast<int64_t>(getCount());
  const int64_t in = dim(getInWeight(), 0), out = dim(getOutWeight(), 0);
  return inOrder(
      [&] {
        return verifyColumns(op, "C1", "in_weight", getInWeight(), "features of input",
                             features(getInput()));
      },
      [&] { return verifyStacked(*this, "in_weight", getInWeight()); },
      [&] { return verifyStacked(*this, "out_weight", getOutWeight()); },
      [&] {
        return verifyColumns(op, "C3", "out_weight", getOutWeight(),
                             "rows of in_weight of an expert", in / count);
      },
      [&] { return verifyGate(*this); },
      [&] { return verifySize(op, "C5", "in_bias", getInBias(), "rows of in_weight", in); },
      [&] { return verifySize(op, "C5", "gate_bias", getGateBias(), "rows of in_weight", in); },
      [&] { return verifySize(op, "C5", "out_bias", getOutBias(), "rows of out_weight", out); },
      [&] {
        return verifyShape(op, "C6", "weights", getWeights(), typeOf(getExperts()).getShape());
      },
      [&] {
        RankedTensorType type = withFeatures(getInput(), out / count);
        return verifyShape(op, "C7", "the result", getResult(), type.getShape(),
                           {type.getRank() - 1});
      },
      [&] { return verifyBlockLimits(*this, "C8"); });
}

OperandStorage ExpertsOp::storageOf(OpOperand &operand) {
  const Value value = operand.get();
  const bool isMatrix =
      value == getInWeight() || value == getOutWeight() || value == getGateWeight();
  return isMatrix ? OperandStorage::Panels : storageByRank(operand);
}

void ExpertsOp::limitValues(OpOperand &operand, ValueLimits &limits) {
  if (&operand == &getExpertsMutable())
    limits.addBelow(static_cast<int64_t>(getCount()));
}

void ExpertsOp::decompose() {
  OpBuilder b(*this);
  const Location loc = getLoc();
  const auto count = static_cast<int64_t>(getCount());
  auto vector = [&](int64_t size) { return RankedTensorType::get({size}, b.getI32Type()); };
  Value counts = ExpertCountsOp::create(b, loc, vector(count), getExperts());
  auto starts = ExpertStartsOp::create(b, loc, vector(count + 1), vector(count), counts);
  Value places = ExpertPlacesOp::create(b, loc, getExperts().getType(), getExperts());
  auto rowsType =
      RankedTensorType::get({ShapedType::kDynamic, features(getInput())}, b.getF32Type());
  Value rows = ExpertRowsOp::create(b, loc, rowsType, getInput(), places);
  auto product = [&](Value x, Value weight, Value bias, Activation activation) -> Value {
    auto op = LinearOp::create(b, loc, x, weight, bias, activation);
    op.setGroups(starts.getStarts(), starts.getNumbers(), count);
    return op.getResult();
  };
  Value hidden = hiddenFeatures(*this, b, [&](Value weight, Value bias, Activation activation) {
    return product(rows, weight, bias, activation);
  });
  Value terms = product(hidden, getOutWeight(), getOutBias(), Activation::None);
  Value sum = ExpertSumOp::create(b, loc, getType(), terms, places, getWeights(), getInput());
  replaceAllUsesWith(sum);
  erase();
}

//===- Ops of the decomposed block ---------------------------------------===//

LogicalResult ExpertCountsOp::verify() {
  if (typeOf(getCounts()).hasStaticShape() && dim(getCounts(), 0) > 0)
    return success();
  return emitOpError("C1: expected a static vector of counts, found ") << getCounts().getType();
}

void ExpertCountsOp::inferShapes(SymbolicShapes &shapes) {
  shapes.set(getCounts(), {dim(getCounts(), 0)});
}

LogicalResult ExpertStartsOp::verify() {
  const int64_t experts = dim(getCounts(), 0);
  if (ShapedType::isDynamic(experts))
    return emitOpError("C1: expected a static vector of counts, found ") << getCounts().getType();
  return inOrder(
      [&] { return verifyShape(*this, "C1", "starts", getStarts(), {experts + 1}, {0}); },
      [&] { return verifyShape(*this, "C1", "numbers", getNumbers(), {experts}, {0}); });
}

void ExpertStartsOp::inferShapes(SymbolicShapes &shapes) {
  shapes.set(getStarts(), {dim(getStarts(), 0)});
  shapes.set(getNumbers(), {dim(getNumbers(), 0)});
}

void ExpertPlacesOp::inferShapes(SymbolicShapes &shapes) {
  shapes.set(getPlaces(), shapes.of(getExperts()));
}

LogicalResult ExpertRowsOp::verify() {
  return verifyShape(*this, "C1", "the result", getResult(),
                     {ShapedType::kDynamic, features(getInput())}, {1});
}

void ExpertRowsOp::inferShapes(SymbolicShapes &shapes) {
  shapes.require(shapes.of(getPlaces())[1], rowsOf(shapes.of(getInput())),
                 "the rows of experts and of places");
  shapes.set(getResult(), {product(shapes.of(getPlaces())), features(getResult())});
}

LogicalResult ExpertSumOp::verify() {
  RankedTensorType type = withFeatures(getLike(), features(getInput()));
  return inOrder(
      [&]() -> LogicalResult {
        if (int64_t rank = typeOf(getInput()).getRank(); rank != 2)
          return emitOpError("C1: expected input of rank 2, found rank ") << rank;
        return success();
      },
      [&] {
        return verifyShape(*this, "C2", "weights", getWeights(), typeOf(getPlaces()).getShape());
      },
      [&] {
        return verifyShape(*this, "C3", "the result", getResult(), type.getShape(),
                           {type.getRank() - 1});
      });
}

void ExpertSumOp::inferShapes(SymbolicShapes &shapes) {
  Shape shape = shapes.of(getLike());
  shapes.require(shapes.of(getPlaces())[1], rowsOf(shape), "the rows of places and of like");
  shape.back() = features(getResult());
  shapes.set(getResult(), std::move(shape));
}

SizeExpr ExpertSumOp::countFlops(const SymbolicShapes &shapes) {
  return product(shapes.of(getInput())) * 2;
}
