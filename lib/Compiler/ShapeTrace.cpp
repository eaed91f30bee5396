//===- ShapeTrace.cpp - Shapes as data passes a model ---------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linears belong to an attention (its projections), to each other (the two of a
// feed-forward block share the first parts of their weights' names), or stand alone.
//
//===----------------------------------------------------------------------===//

#include "ShapeTrace.h"

#include "Layers.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

namespace {

/// What makes a value, borders of groups and roundings aside.
Value origin(Value value) {
  value = behindGroups(value);
  while (isa_and_nonnull<arith::TruncFOp, QuantizeOp>(value.getDefiningOp()))
    value = behindGroups(value.getDefiningOp()->getOperand(0));
  return value;
}

class Tracer {
public:
  explicit Tracer(func::FuncOp function) : shapes(function) {
    function.walk([&](Operation *op) { collect(op); });
    function.walk([&](Operation *op) { visit(op); });
  }
  std::vector<TraceLine> lines;

private:
  /// Values from the input of a projection to the heads that attention reads, first to last.
  std::vector<Value> projected(Value heads);
  void collect(Operation *op);
  void visit(Operation *op);
  void attention(AttentionOp op);
  void linear(LinearOp op);
  void add(std::string name, ArrayRef<Value> values) {
    TraceLine line{std::move(name), {}};
    for (Value value : values)
      line.shapes.push_back(shapes.of(value));
    lines.push_back(std::move(line));
  }

  ShapeExpressions shapes;
  llvm::DenseSet<Operation *> inAttention;    ///< projections
  llvm::DenseMap<Operation *, Value> outputs; ///< of attentions: after merging and projecting
  Value lastInput;                            ///< of the last line that is of linears
};

std::vector<Value> Tracer::projected(Value heads) {
  std::vector<Value> path = {origin(heads)};
  while (Operation *op = path.front().getDefiningOp()) {
    if (!isa<LinearOp, SplitHeadsOp, CacheAppendOp>(op))
      break;
    path.insert(path.begin(), origin(op->getOperand(0)));
  }
  return path;
}

void Tracer::collect(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    outputs.try_emplace(op, attention.getOutput());
    for (Value heads : {attention.getQuery(), attention.getKey(), attention.getValue()})
      for (Value value : projected(heads))
        if (auto linear = value.getDefiningOp<LinearOp>())
          inAttention.insert(linear);
  } else if (auto merge = dyn_cast<MergeHeadsOp>(op)) {
    if (auto attention = origin(merge.getInput()).getDefiningOp<AttentionOp>())
      outputs[attention] = merge.getResult();
  } else if (auto linear = dyn_cast<LinearOp>(op)) {
    auto merge = origin(linear.getInput()).getDefiningOp<MergeHeadsOp>();
    auto attention = merge ? origin(merge.getInput()).getDefiningOp<AttentionOp>() : AttentionOp();
    // The first reader of merged heads is the output projection.
    if (attention && outputs.lookup(attention) == merge.getResult()) {
      outputs[attention] = linear.getResult();
      inAttention.insert(linear);
    }
  }
}

/// Queries in full; keys only where they come from elsewhere, values where their heads have a size
/// of their own.
void Tracer::attention(AttentionOp op) {
  std::string name = layerOf(op);
  name =
      name.empty() ? "attention" : name + (StringRef(name).ends_with(".cross") ? "" : ".attention");
  std::vector<Value> queries = projected(op.getQuery()), keys = projected(op.getKey());
  bool elsewhere = keys.front() != queries.front();
  queries.push_back(outputs.lookup(op));
  add(name, queries);
  if (elsewhere)
    add(name + ", keys", keys);
  if (std::vector<Value> values = projected(op.getValue());
      shapes.of(values.back()).back() != shapes.of(keys.back()).back())
    add(name + ", values", values);
}

void Tracer::linear(LinearOp op) {
  if (inAttention.contains(op))
    return;
  StringRef name = weightName(op.getWeight());
  std::string layer = layerOfLinear(name);
  name.consume_back(".weight");
  if (layer != "classifier") // of encoder.0.ffn.in, encoder.0.ffn
    layer = name.contains('.') ? name.rsplit('.').first.str() : name.str();
  Value input = origin(op.getInput());
  if (!lines.empty() && lines.back().name == layer) {
    if (input != lastInput) // those beside each other have one line
      lines.back().shapes.push_back(shapes.of(op.getResult()));
  } else {
    add(layer.empty() ? "linear" : layer, {input, op.getResult()});
  }
  lastInput = input;
}

void Tracer::visit(Operation *op) {
  if (auto embedding = dyn_cast<EmbeddingOp>(op))
    add(layerOfWeight(weightName(embedding.getTable())), {embedding.getIds(), op->getResult(0)});
  else if (auto patches = dyn_cast<PatchesOp>(op))
    add("patches", {patches.getImage(), op->getResult(0)});
  else if (auto concat = dyn_cast<ConcatOp>(op))
    add(weightName(concat.getFirst()).str(), {concat.getRows(), op->getResult(0)});
  else if (auto pool = dyn_cast<PoolOp>(op))
    add("pool", {pool.getInput(), op->getResult(0)});
  else if (auto found = dyn_cast<AttentionOp>(op))
    attention(found);
  else if (auto found = dyn_cast<LinearOp>(op))
    linear(found);
}

} // namespace

std::string traceText(const Shape &shape, const Dimensions &dims) {
  std::string text = "[";
  for (const SizeExpr &size : shape) {
    Expected<int64_t> value = size.evaluate(dims);
    text += (text.size() > 1 ? "," : "") + (value ? std::to_string(*value) : size.str());
  }
  return text + "]";
}

std::vector<TraceLine> shapeTrace(func::FuncOp function) {
  return std::move(Tracer(function).lines);
}

} // namespace heddle
