//===- Graph.cpp - A model as boxes and arrows ----------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights, masks and constants are part of the op that reads them; what only changes
// the form of a value (heads, roundings, caches) is part of the arrow.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include "Layers.h"
#include "MaskText.h"
#include "ShapeTrace.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <algorithm>
#include <map>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

namespace {

bool isPartOfArrow(Operation *op) {
  return isa<SplitHeadsOp, MergeHeadsOp, arith::TruncFOp, QuantizeOp, CacheAppendOp>(op);
}

Value behindArrow(Value value) {
  value = behindGroups(value);
  while (Operation *op = value.getDefiningOp()) {
    if (!isPartOfArrow(op))
      break;
    value = behindGroups(op->getOperand(0));
  }
  return value;
}

/// Ops with a box: they give a tensor, and are no weight, constant or mask.
bool hasBox(Operation *op) {
  return op->getNumResults() > 0 && isa<RankedTensorType>(op->getResult(0).getType()) &&
         !isa<WeightOp, kernel::GroupOp>(op) && !op->hasTrait<OpTrait::ConstantLike>() &&
         !isPartOfArrow(op) && isa<func::FuncOp, kernel::GroupOp>(op->getParentOp());
}

bool worksOnStates(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        return isa<StateSetOp, CacheAppendOp, CacheReorderOp>(op) ? WalkResult::interrupt()
                                                                  : WalkResult::advance();
      })
      .wasInterrupted();
}

/// What is written in the box: the op, and the weight that it is about without its layer.
std::string labelOf(Operation *op, StringRef layer) {
  if (isa<arith::AddFOp>(op))
    return "add";
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    std::string mask = maskText(attention.getMask());
    return attention.getMask() ? "attention, " + mask : "attention";
  }
  if (auto get = dyn_cast<StateGetOp>(op))
    return get.getState().str();
  StringRef label = op->getName().getStringRef();
  label = label.rsplit("transformer.").second;
  for (Value operand : op->getOperands())
    if (StringRef name = weightName(operand); !name.empty()) {
      name.consume_front(layer);
      name.consume_front(".");
      name.consume_back(".weight");
      name.consume_back(isa<EmbeddingOp>(op) ? ".embedding" : ".norm"); // the op says so
      return (label + " " + name).str();
    }
  return label.str();
}

class Builder {
public:
  Builder(func::FuncOp function, const Dimensions &dims)
      : function(function), shapes(function), dims(dims) {
    graph.name = function.getName().str();
  }
  FunctionGraph build();

private:
  void addOp(Operation *op, const std::string &layer);
  void addOutputs();
  /// The node of a value; a function's argument gets one when it is first read.
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

void Builder::addOp(Operation *op, const std::string &layer) {
  std::vector<size_t> inputs;
  // Of an attention only queries, keys and values are values: the rest are rules.
  size_t count = isa<AttentionOp>(op) ? 3 : op->getNumOperands();
  for (Value operand : op->getOperands().take_front(count))
    if (auto input = nodeOf(operand); input && !llvm::is_contained(inputs, *input))
      inputs.push_back(*input);
  GraphNode node{GraphNode::Kind::Op, labelOf(op, layer),
                 traceText(shapes.of(op->getResult(0)), dims), layer, std::move(inputs)};
  size_t index = add(std::move(node));
  for (Value result : op->getResults())
    known[result] = index;
}

void Builder::addOutputs() {
  Operation *end = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    if (isa<BlockArgument>(behindArrow(value))) // passed on as it came
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

/// "encoder" and 3 of "encoder.3".
std::optional<std::pair<StringRef, int64_t>> numbered(StringRef layer) {
  auto [name, digits] = layer.rsplit('.');
  int64_t number = 0;
  if (digits.empty() || digits.getAsInteger(10, number))
    return std::nullopt;
  return std::pair(name, number);
}

/// Leaves one of layers that follow each other and are alike.
class Folder {
public:
  explicit Folder(FunctionGraph graph) : graph(std::move(graph)) {}
  FunctionGraph fold();

private:
  using Members = std::vector<size_t>;
  bool follows(const std::string &before, const std::string &after) const;
  bool alike(const Members &a, const Members &b) const;

  FunctionGraph graph;
  std::vector<std::pair<std::string, Members>> layers;
};

bool Folder::follows(const std::string &before, const std::string &after) const {
  auto a = numbered(before), b = numbered(after);
  return a && b && a->first == b->first && a->second + 1 == b->second;
}

bool Folder::alike(const Members &a, const Members &b) const {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](size_t x, size_t y) {
    return graph.nodes[x].label == graph.nodes[y].label &&
           graph.nodes[x].shape == graph.nodes[y].shape;
  });
}

FunctionGraph Folder::fold() {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::string &layer = graph.nodes[i].layer;
    if (!numbered(layer))
      continue;
    if (layers.empty() || layers.back().first != layer)
      layers.push_back({layer, {}});
    layers.back().second.push_back(i);
  }
  // The node that stands for each: its own, or its like in the first layer of the run.
  std::vector<size_t> stand(graph.nodes.size());
  for (size_t i = 0; i < stand.size(); ++i)
    stand[i] = i;
  for (size_t first = 0, next = 0; first < layers.size(); first = next) {
    for (next = first + 1;
         next < layers.size() && follows(layers[next - 1].first, layers[next].first) &&
         alike(layers[first].second, layers[next].second);
         ++next)
      for (size_t i = 0; i < layers[next].second.size(); ++i)
        stand[layers[next].second[i]] = layers[first].second[i];
    std::string label = layers[first].first;
    if (next > first + 1)
      label += " to " + layers[next - 1].first + ", " + std::to_string(next - first) + " times";
    graph.layers.push_back({label, layers[first].first});
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
  return std::move(graph);
}

FunctionGraph Builder::build() {
  for (auto &[group, layer] : layersOf(function))
    for (Operation &op : group.getBody().front())
      if (hasBox(&op))
        addOp(&op, numbered(layer) ? layer : "");
  addOutputs();
  return Folder(std::move(graph)).fold();
}

} // namespace

std::vector<FunctionGraph> modelGraph(ModuleOp fused, const Dimensions &dims) {
  std::vector<func::FuncOp> all(fused.getOps<func::FuncOp>().begin(),
                                fused.getOps<func::FuncOp>().end());
  bool some = !llvm::all_of(all, worksOnStates);
  std::vector<FunctionGraph> graphs;
  for (func::FuncOp function : all)
    if (!some || !worksOnStates(function))
      graphs.push_back(Builder(function, dims).build());
  return graphs;
}

} // namespace heddle
