//===- Graph.cpp - Data-flow graph of a model -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Construction of graphs. Weights, masks and constants are part of the op that reads them. Ops that
// only change the form of a value (heads, roundings, caches) are part of an arrow.

#include "Graph.h"

#include "Layers.h"
#include "MaskText.h"
#include "ShapeTrace.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

#include <numeric>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

namespace {

bool writesState(Operation *op) { return hasEffect<MemoryEffects::Write>(op); }

bool isPartOfArrow(Operation *op) {
  return isa<SplitHeadsOp, MergeHeadsOp, QuantizeOp, CacheQuantizeOp>(op) || isRounding(op) ||
         writesState(op);
}

Value behindArrow(Value value) { return behindGroups(value, isPartOfArrow); }

/// Whether an op has a box: its result is a tensor, and it is not a weight, a constant or part of
/// an arrow.
bool hasBox(Operation *op) {
  return op->getNumResults() > 0 && isa<RankedTensorType>(op->getResult(0).getType()) &&
         !isa<WeightOp, kernel::GroupOp>(op) && !op->hasTrait<OpTrait::ConstantLike>() &&
         !isPartOfArrow(op) && isa<func::FuncOp, kernel::GroupOp>(op->getParentOp());
}

bool worksOnStates(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        return writesState(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Readable name of an op: "add", "layer_norm".
StringRef wordOf(Operation *op) {
  if (isa<arith::AddFOp>(op))
    return "add";
  if (isa<arith::MulFOp>(op))
    return "multiply";
  return op->getName().getStringRef().rsplit('.').second;
}

/// ", silu" for an op with this activation; empty without one.
std::string activationText(Operation *op) {
  auto activation = op->getAttrOfType<ActivationAttr>("activation");
  return activation && activation.getValue() != Activation::None
             ? ", " + stringifyActivation(activation.getValue()).str()
             : "";
}

/// Label of an op's box: its name, its weight's name without the layer, and its activation.
std::string labelOf(Operation *op, StringRef layer) {
  if (auto get = dyn_cast<StateGetOp>(op))
    return get.getState().str();
  StringRef label = wordOf(op);
  if (auto scores = dyn_cast<ScoresOpInterface>(op))
    return scores.getMask() ? label.str() + ", " + maskText(scores.getMask()) : label.str();
  for (Value operand : op->getOperands())
    if (StringRef name = weightName(operand); !name.empty()) {
      name.consume_front(layer);
      name.consume_front(".");
      name.consume_back(".weight");
      name.consume_back(isa<EmbeddingOp>(op) ? ".embedding" : ".norm"); // repeats the op's name
      return (label + " " + name).str() + activationText(op);
    }
  return label.str() + activationText(op);
}

class Builder {
public:
  Builder(func::FuncOp function, const Dimensions &dims)
      : function(function), shapes(function), dims(dims) {
    graph.name = function.getName().str();
  }
  FunctionGraph build();

private:
  void addOp(Operation *op);
  void addOutputs();
  /// Node of a value; none for weights, masks and constants. Creates the node of an argument on its
  /// first read.
  std::optional<size_t> nodeOf(Value value);
  size_t add(GraphNode node) {
    graph.nodes.push_back(std::move(node));
    return graph.nodes.size() - 1;
  }

  func::FuncOp function;
  ShapeExpressions shapes;
  const Dimensions &dims;
  FunctionGraph graph;
  llvm::DenseMap<Value, size_t> known;
};

std::optional<size_t> Builder::nodeOf(Value value) {
  value = behindArrow(value);
  if (auto found = known.find(value); found != known.end())
    return found->second;
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !isa<RankedTensorType>(value.getType()))
    return std::nullopt;
  auto name =
      function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), TransformerDialect::nameAttr);
  GraphNode node{GraphNode::Kind::Input,
                 name ? name.str() : "arg" + std::to_string(argument.getArgNumber()),
                 traceText(shapes.of(value), dims),
                 "",
                 {}};
  return known[value] = add(std::move(node));
}

void Builder::addOp(Operation *op) {
  StringRef layer = layerOf(partOf(op));
  if (!numbered(layer))
    layer = "";
  std::vector<size_t> inputs;
  // Operands of attention other than queries, keys and values are rules, which its label shows.
  auto scores = dyn_cast<ScoresOpInterface>(op);
  auto isRule = [&](Value operand) {
    return isa<MaskType, BiasType>(operand.getType()) || operand == scores.getRules().sinks;
  };
  for (Value operand : op->getOperands())
    if (!scores || !isRule(operand))
      if (auto input = nodeOf(operand); input && !llvm::is_contained(inputs, *input))
        inputs.push_back(*input);
  GraphNode node{GraphNode::Kind::Op, labelOf(op, layer),
                 traceText(shapes.of(op->getResult(0)), dims), layer.str(), std::move(inputs)};
  size_t index = add(std::move(node));
  for (Value result : op->getResults())
    known[result] = index;
}

void Builder::addOutputs() {
  Operation *end = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    if (isa<BlockArgument>(behindArrow(value))) // an input returned unchanged
      continue;
    auto input = nodeOf(value);
    if (!input)
      continue;
    auto name = function.getResultAttrOfType<StringAttr>(i, TransformerDialect::nameAttr);
    add({GraphNode::Kind::Output,
         name ? name.str() : "out" + std::to_string(i),
         traceText(shapes.of(value), dims),
         "",
         {*input}});
  }
}

/// Keeps one of each run of equal layers.
FunctionGraph folded(FunctionGraph graph) {
  llvm::MapVector<StringRef, std::vector<size_t>> nodesOf;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (const std::string &layer = graph.nodes[i].layer; !layer.empty())
      nodesOf[layer].push_back(i);
  std::vector<size_t> members; // nodes of layers, layer by layer
  std::vector<std::string> names;
  for (auto &[layer, nodes] : nodesOf) {
    members.insert(members.end(), nodes.begin(), nodes.end());
    names.insert(names.end(), nodes.size(), layer.str());
  }
  auto alike = [&](size_t a, size_t b) {
    const GraphNode &x = graph.nodes[members[a]], &y = graph.nodes[members[b]];
    return x.label == y.label && x.shape == y.shape;
  };
  std::vector<LayerItems> layers = layerItems(names, alike);
  // Representative of each node: itself, or the corresponding node of the first equal layer.
  std::vector<size_t> stand(graph.nodes.size());
  std::iota(stand.begin(), stand.end(), 0);
  for (size_t i = 0, times = 1; i < layers.size(); ++i, ++times) {
    const LayerItems &layer = layers[i], &first = layers[layer.like];
    for (size_t item = layer.begin; item < layer.end; ++item)
      stand[members[item]] = members[first.begin + item - layer.begin];
    if (layer.like == i) {
      times = 1;
      graph.layers.push_back({layer.layer, layer.layer});
    } else {
      graph.layers.back().label =
          first.layer + " to " + layer.layer + ", " + std::to_string(times) + " times";
    }
  }
  std::vector<size_t> place(graph.nodes.size());
  std::vector<GraphNode> kept;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (stand[i] != i)
      continue;
    place[i] = kept.size();
    kept.push_back(std::move(graph.nodes[i]));
    for (size_t &input : kept.back().inputs)
      input = place[stand[input]];
  }
  graph.nodes = std::move(kept);
  return graph;
}

FunctionGraph Builder::build() {
  function.walk([&](Operation *op) {
    if (hasBox(op))
      addOp(op);
  });
  addOutputs();
  return folded(std::move(graph));
}

} // namespace

std::vector<FunctionGraph> modelGraph(ModuleOp fused, const Dimensions &dims) {
  std::vector<func::FuncOp> all(fused.getOps<func::FuncOp>().begin(),
                                fused.getOps<func::FuncOp>().end());
  bool some = !llvm::all_of(all, worksOnStates);
  // encode_packed computes the same function as encode, over texts without padding.
  auto isTwin = [&](func::FuncOp function) {
    StringRef name = function.getName();
    return name.consume_back("_packed") && fused.lookupSymbol(name);
  };
  std::vector<FunctionGraph> graphs;
  for (func::FuncOp function : all)
    if (!isTwin(function) && (!some || !worksOnStates(function)))
      graphs.push_back(Builder(function, dims).build());
  return graphs;
}

} // namespace heddle
