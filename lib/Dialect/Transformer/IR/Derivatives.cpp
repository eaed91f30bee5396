//===- Derivatives.cpp - Derivatives of ops -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The adjoints of a block, and the derivative of each op
// (DifferentiableOpInterface).

#include "heddle/Dialect/Transformer/IR/Differentiation.h"

#include "ShapeChecks.h"

#include "heddle/Dialect/Transformer/IR/TrainingAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace heddle::transformer;
using namespace heddle::transformer::detail;

//===- Adjoints ----------------------------------------------------------===//

Adjoints::Adjoints(OpBuilder &b, Block &block) : b(b) {
  llvm::StringMap<uint64_t> uses;
  auto module = block.getParentOp()->getParentOfType<ModuleOp>();
  auto frozen = module ? module->getAttrOfType<ArrayAttr>(frozenWeights) : ArrayAttr();
  for (Operation &op : block) {
    if (auto weight = dyn_cast<WeightOp>(op)) {
      if (!(frozen && llvm::is_contained(frozen, weight.getNameAttr())) &&
          weight.getType().getElementType().isF32() && !weight.getScales())
        active.insert(weight);
      continue;
    }
    for (OpOperand &operand : op.getOpOperands()) {
      if (!needs(operand.get()))
        continue;
      active.insert_range(op.getResults());
      if (auto weight = operand.get().getDefiningOp<WeightOp>())
        accumulators[&operand] = {weight.getName(), uses[weight.getName()]++};
    }
  }
}

void Adjoints::add(Value value, Value contribution) {
  Value &sum = adjoints[value];
  sum = sum ? arith::AddFOp::create(b, contribution.getLoc(), sum, contribution) : contribution;
}

std::optional<Adjoints::Accumulator> Adjoints::accumulatorOf(OpOperand &operand) const {
  auto found = accumulators.find(&operand);
  return found == accumulators.end() ? std::nullopt : std::optional(found->second);
}

LogicalResult Adjoints::refuse(Operation *op, const Twine &what) {
  return op->emitOpError("expected a derivative, found none ") << what;
}

/// Adds the gradient of a vector, or of the rows of heads that a norm has.
static LogicalResult addColumns(Adjoints &a, OpOperand &vector, Value gradient) {
  if (!a.needs(vector.get()))
    return success();
  Operation *op = vector.getOwner();
  std::optional<Adjoints::Accumulator> to = a.accumulatorOf(vector);
  if (!to)
    return Adjoints::refuse(op, "with a vector that is computed");
  GradientColumnsOp::create(a.b, op->getLoc(), to->name, gradient,
                            /*of_heads=*/typeOf(vector.get()).getRank() == 2, to->use);
  return success();
}

//===- Products and elementwise functions --------------------------------===//

LogicalResult LinearOp::differentiate(Adjoints &a) {
  Value gradient = a.of(getResult());
  if (!getScales().empty() || !typeOf(getInput()).getElementType().isF32() ||
      !typeOf(getWeight()).getElementType().isF32())
    return Adjoints::refuse(*this, "with operands narrower than f32");
  if (getStarts())
    return Adjoints::refuse(*this, "with groups");
  if (getActivation() != Activation::None)
    gradient = ActivationGradientOp::create(a.b, getLoc(), gradient, getResult(), getActivation(),
                                            /*of_result=*/true);
  if (std::optional<Adjoints::Accumulator> to = a.accumulatorOf(getWeightMutable()))
    GradientProductOp::create(a.b, getLoc(), to->name, gradient, getInput(), to->use);
  else if (a.needs(getWeight()))
    return Adjoints::refuse(*this, "with a matrix that is computed");
  if (getBias() && failed(addColumns(a, getBiasMutable()[0], gradient)))
    return failure();
  if (a.needs(getInput()))
    a.add(getInput(),
          LinearTransposedOp::create(a.b, getLoc(), getInput().getType(), gradient, getWeight()));
  return success();
}

LogicalResult ActivationOp::differentiate(Adjoints &a) {
  a.add(getInput(), ActivationGradientOp::create(a.b, getLoc(), a.of(getResult()), getInput(),
                                                 getActivation(), /*of_result=*/false));
  return success();
}

LogicalResult GateOp::differentiate(Adjoints &a) {
  for (bool ofGate : {true, false}) { // both operands may be one value
    Value operand = ofGate ? getGate() : getInput();
    if (a.needs(operand))
      a.add(operand, GateGradientOp::create(a.b, getLoc(), a.of(getResult()), getGate(), getInput(),
                                            getActivation(), getLimitAttr(), getOffset(), ofGate));
  }
  return success();
}

LogicalResult SoftcapOp::differentiate(Adjoints &a) {
  a.add(getInput(),
        SoftcapGradientOp::create(a.b, getLoc(), a.of(getResult()), getResult(), getCapAttr()));
  return success();
}

/// The same numbers are dropped from the gradient.
LogicalResult DropoutOp::differentiate(Adjoints &a) {
  auto dropped = cast<DropoutOp>(a.b.clone(*getOperation()));
  dropped.getInputMutable().set(a.of(getResult()));
  a.add(getInput(), dropped.getResult());
  return success();
}

LogicalResult ScaleOp::differentiate(Adjoints &a) {
  a.add(getInput(), ScaleOp::create(a.b, getLoc(), a.of(getResult()), getFactorAttr()));
  return success();
}

//===- Embeddings and positions ------------------------------------------===//

LogicalResult EmbeddingOp::differentiate(Adjoints &a) {
  std::optional<Adjoints::Accumulator> to = a.accumulatorOf(getTableMutable());
  if (!to)
    return Adjoints::refuse(*this, "with a table that is computed");
  GradientRowsOp::create(a.b, getLoc(), to->name, a.of(getResult()), getIds(), dim(getTable(), 0),
                         getScale(), getPaddingIdAttr(), to->use);
  return success();
}

LogicalResult PositionSinusoidalOp::differentiate(Adjoints &a) {
  a.add(getInput(), a.of(getResult()));
  return success();
}

LogicalResult PositionLearnedOp::differentiate(Adjoints &a) {
  Value gradient = a.of(getResult());
  if (std::optional<Adjoints::Accumulator> to = a.accumulatorOf(getTableMutable())) {
    if (getOffset())
      return Adjoints::refuse(*this, "with an offset");
    GradientPositionsOp::create(a.b, getLoc(), to->name, gradient, getDocuments(),
                                dim(getTable(), 0), getScale(), to->use);
  } else if (a.needs(getTable())) {
    return Adjoints::refuse(*this, "with a table that is computed");
  }
  if (a.needs(getInput()))
    a.add(getInput(), gradient);
  return success();
}

LogicalResult RotaryOp::differentiate(Adjoints &a) {
  auto inverse = cast<RotaryOp>(a.b.clone(*getOperation()));
  inverse.getInputMutable().set(a.of(getResult()));
  inverse.setInverse(!getInverse());
  a.add(getInput(), inverse.getResult());
  return success();
}

//===- Rows and heads ----------------------------------------------------===//

/// Adds the gradients of the input and of gamma of a norm.
static LogicalResult differentiateNorm(Adjoints &a, Operation *op, OpOperand *gamma,
                                       FloatAttr epsilon, Normalization kind) {
  Value gradient = a.of(op->getResult(0)), input = op->getOperand(0);
  auto made = NormGradientOp::create(a.b, op->getLoc(), input.getType(), input.getType(), gradient,
                                     input, gamma ? gamma->get() : Value(), epsilon,
                                     NormalizationAttr::get(op->getContext(), kind));
  if (gamma && failed(addColumns(a, *gamma, made.getScaled())))
    return failure();
  if (a.needs(input))
    a.add(input, made.getResult());
  return success();
}

LogicalResult LayerNormOp::differentiate(Adjoints &a) {
  if (failed(addColumns(a, getBetaMutable(), a.of(getResult()))))
    return failure();
  return differentiateNorm(a, *this, &getGammaMutable(), getEpsilonAttr(),
                           getRoot() ? Normalization::Layer : Normalization::Variance);
}

LogicalResult RmsNormOp::differentiate(Adjoints &a) {
  return differentiateNorm(a, *this, &getGammaMutable(), getEpsilonAttr(),
                           Normalization::RootMeanSquare);
}

LogicalResult NormalizeOp::differentiate(Adjoints &a) {
  return differentiateNorm(a, *this, nullptr, getEpsilonAttr(), Normalization::Length);
}

LogicalResult PoolOp::differentiate(Adjoints &a) {
  a.add(getInput(), PoolGradientOp::create(a.b, getLoc(), getInput().getType(), a.of(getResult()),
                                           getInput(), getLengths(), getDocuments(), getKinds()));
  return success();
}

LogicalResult SplitHeadsOp::differentiate(Adjoints &a) {
  a.add(getInput(), MergeHeadsOp::create(a.b, getLoc(), getInput().getType(), a.of(getResult())));
  return success();
}

LogicalResult MergeHeadsOp::differentiate(Adjoints &a) {
  a.add(getInput(), SplitHeadsOp::create(a.b, getLoc(), getInput().getType(), a.of(getResult()),
                                         static_cast<uint64_t>(dim(getInput(), 1))));
  return success();
}

//===- Attention ---------------------------------------------------------===//

LogicalResult AttentionOp::differentiate(Adjoints &a) {
  if (getSinks())
    return Adjoints::refuse(*this, "with sinks");
  if (getKeyCounts() || getKeyScales() || getValueScales())
    return Adjoints::refuse(*this, "with keys of a cache");
  if (getBias() && a.needs(getBias()))
    return Adjoints::refuse(*this, "with a learned score rule");
  if ((getLse() && a.of(getLse())) || (getWeights() && a.of(getWeights())))
    return Adjoints::refuse(*this, "of the log-sum-exp and of weights");
  Value gradient = a.of(getOutput());
  OpBuilder forward(getContext());
  forward.setInsertionPointAfter(*this); // one kernel computes both
  auto statistics = AttentionStatisticsOp::create(forward, getLoc(), *this);
  auto query = AttentionQueryGradientOp::create(a.b, getLoc(), *this, gradient, statistics);
  if (a.needs(getQuery()))
    a.add(getQuery(), query.getResult());
  if (!a.needs(getKey()) && !a.needs(getValue()))
    return success();
  auto keys =
      AttentionKeyGradientOp::create(a.b, getLoc(), *this, gradient, statistics, query.getDelta());
  if (a.needs(getKey()))
    a.add(getKey(), keys.getKeyGradient());
  if (a.needs(getValue()))
    a.add(getValue(), keys.getValueGradient());
  return success();
}
