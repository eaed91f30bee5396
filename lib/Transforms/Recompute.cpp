//===- Recompute.cpp - Values of the forward pass, computed again ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass `recompute`. The backward pass reads values of the forward pass, which occupy memory until
// then. A layer that is not kept whole keeps only what other layers read; ops of the layer are cloned
// in front of its backward pass, which reads the clones:
//
//   %h = linear %x     // layer 0             %h = linear %x
//   %y = linear %h                            %y = linear %h
//   …                                   ──▶   …
//   gradient.product "w", %dy, %h             %g = linear %x {transformer.again}
//                                             gradient.product "w", %dy, %g
//
// In all layers, values that cost little are computed again from others that are kept anyway: norms
// from their input, activations from theirs, merged heads from the heads, and dropouts and products
// of elements of such values.

#include "heddle/Analysis/ModelParts.h"
#include "heddle/Dialect/Transformer/IR/TrainingAttributes.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Program.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace heddle {
#define GEN_PASS_DEF_RECOMPUTE
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

namespace {
/// The layers of a function of gradients. Its forward pass ends with `root`, the gradient of the loss.
class Layers {
public:
  explicit Layers(CrossEntropyGradientOp root);
  /// Computes the values of all layers but the first `kept` again.
  void recompute(int64_t kept);
  /// Computes values that cost little again.
  void recomputeCheap();

private:
  bool isForward(Operation *op) const { return !root->isBeforeInBlock(op); }
  bool isMadeAgain(Value value) const;
  Value again(Value value, IRMapping &clones, OpBuilder &b) const;
  SmallVector<OpOperand *> readsOf(Operation *op) const;
  bool isMadeCheaply(Value value) const;
  Value cheapAgain(Value value, OpBuilder &b) const;
  void recompute(ArrayRef<Operation *> layer) const;

  CrossEntropyGradientOp root;
  DenseMap<Operation *, StringRef> layerOfOp;
  llvm::MapVector<StringRef, SmallVector<Operation *>> layers; ///< in order of the forward pass
};
} // namespace

Layers::Layers(CrossEntropyGradientOp root) : root(root) {
  for (Operation &op : *root->getBlock()) {
    if (!isForward(&op))
      break;
    StringRef layer = layerOf(partOf(&op));
    if (!numbered(layer))
      continue;
    layerOfOp[&op] = layer;
    layers[layer].push_back(&op);
  }
}

/// Whether a value of a layer is computed again where the backward pass reads it: numbers that no
/// other part of the forward pass reads.
bool Layers::isMadeAgain(Value value) const {
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!op || !type || !isa<FloatType>(type.getElementType()) || isa<WeightOp>(op) ||
      !layerOfOp.contains(op))
    return false;
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return !isForward(user) || layerOfOp.lookup(user) == layerOfOp.lookup(op);
  });
}

/// The clone of a value, with clones of all values of the layer that it depends on.
Value Layers::again(Value value, IRMapping &clones, OpBuilder &b) const {
  if (clones.contains(value) || !isMadeAgain(value))
    return clones.lookupOrDefault(value);
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    again(operand, clones, b);
  b.clone(*op, clones)->setAttr(isAgain, b.getUnitAttr());
  return clones.lookup(value);
}

/// Operands of the backward pass that are results of an op.
SmallVector<OpOperand *> Layers::readsOf(Operation *op) const {
  SmallVector<OpOperand *> reads;
  for (OpOperand &use : op->getUses())
    if (!isForward(use.getOwner()))
      reads.push_back(&use);
  return reads;
}

/// The first op of the backward pass that has one of the operands.
static Operation *firstReader(ArrayRef<OpOperand *> reads) {
  return (*llvm::min_element(reads,
                             [](OpOperand *a, OpOperand *b) {
                               return a->getOwner()->isBeforeInBlock(b->getOwner());
                             }))
      ->getOwner();
}

/// Whether a value costs little, given the values that the backward pass reads.
bool Layers::isMadeCheaply(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<ActivationOp, LayerNormOp, RmsNormOp, NormalizeOp, DropoutOp, MergeHeadsOp,
                       arith::MulFOp>(op) ||
      !isForward(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    return !type || !isa<FloatType>(type.getElementType()) || !operand.getDefiningOp() ||
           isa<WeightOp>(operand.getDefiningOp()) || isMadeCheaply(operand) ||
           !readsOf(operand.getDefiningOp()).empty();
  });
}

/// A clone of a cheap value, from clones of the cheap values that it depends on.
Value Layers::cheapAgain(Value value, OpBuilder &b) const {
  if (!isMadeCheaply(value))
    return value;
  IRMapping clones;
  for (Value operand : value.getDefiningOp()->getOperands())
    clones.map(operand, cheapAgain(operand, b));
  Operation *clone = b.clone(*value.getDefiningOp(), clones);
  clone->setAttr(isAgain, b.getUnitAttr());
  return clone->getResult(0);
}

void Layers::recomputeCheap() {
  SmallVector<std::pair<Operation *, SmallVector<OpOperand *>>> all;
  for (Operation &op : *root->getBlock())
    if (isForward(&op) && op.getNumResults() == 1 && isMadeCheaply(op.getResult(0)))
      if (SmallVector<OpOperand *> reads = readsOf(&op); !reads.empty())
        all.emplace_back(&op, std::move(reads));
  // Whether a value is cheap depends on the reads, which change last.
  SmallVector<Value> clones;
  for (const auto &[op, reads] : all) {
    OpBuilder b(firstReader(reads));
    clones.push_back(cheapAgain(op->getResult(0), b));
  }
  for (const auto &[value, clone] : llvm::zip(all, clones))
    for (OpOperand *use : value.second)
      use->set(clone);
}

void Layers::recompute(ArrayRef<Operation *> layer) const {
  SmallVector<OpOperand *> reads; // by the backward pass
  for (Operation *op : layer)
    for (OpOperand *use : readsOf(op))
      if (isMadeAgain(use->get()))
        reads.push_back(use);
  if (reads.empty())
    return;
  OpBuilder b(firstReader(reads));
  IRMapping clones;
  for (Operation *op : layer) // clones have the order of the layer
    if (llvm::any_of(reads, [&](OpOperand *use) { return use->get().getDefiningOp() == op; }))
      for (Value result : op->getResults())
        again(result, clones, b);
  for (OpOperand *use : reads)
    use->set(clones.lookup(use->get()));
}

void Layers::recompute(int64_t kept) {
  for (const auto &[index, layer] : llvm::enumerate(layers))
    if (static_cast<int64_t>(index) >= kept)
      recompute(layer.second);
}

namespace {
struct Recompute : heddle::impl::RecomputeBase<Recompute> {
  void runOnOperation() override {
    auto kept = getOperation()->getAttrOfType<IntegerAttr>(keptLayers);
    for (StringRef name : {gradientsFunction, packedGradientsFunction}) {
      auto gradients = getOperation().lookupSymbol<func::FuncOp>(name);
      if (!gradients)
        continue;
      auto roots = gradients.getOps<CrossEntropyGradientOp>();
      if (roots.empty())
        continue;
      Layers layers(*roots.begin());
      if (kept)
        layers.recompute(kept.getInt());
      layers.recomputeCheap();
    }
  }
};
} // namespace
