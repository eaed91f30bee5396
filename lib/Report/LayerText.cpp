//===- LayerText.cpp - Text of a function's layers ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text of layers and their costs. Costs are from the program's launches; a layer's cost is the sum
// over its groups.

#include "ProgramText.h"

#include "Layers.h"
#include "ShapeTrace.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <cstdio>

using namespace mlir;

namespace heddle {

namespace {

struct LayerCost {
  std::string layer;
  int64_t parameters = 0, flops = 0, bytes = 0;
  bool isAs(const LayerCost &other) const {
    return parameters == other.parameters && flops == other.flops && bytes == other.bytes;
  }
};

/// Number of elements of a group's weights that are not yet in `counted`, since groups may share
/// weights.
int64_t newParameters(kernel::GroupOp group, llvm::DenseSet<Value> &counted) {
  int64_t count = 0;
  auto isScales = [](Value operand) {
    auto weight = operand.getDefiningOp<transformer::WeightOp>();
    return weight && weight.getScales();
  };
  for (Value operand : group->getOperands())
    if (!weightName(operand).empty() && !isScales(operand) && counted.insert(operand).second)
      count += cast<ShapedType>(operand.getType()).getNumElements();
  return count;
}

Status addLaunch(const Launch &launch, const Dimensions &dims, LayerCost &cost) {
  cost.flops += HEDDLE_TRY(launch.flops.evaluate(dims));
  cost.bytes += HEDDLE_TRY(launch.bytes.evaluate(dims));
  return {};
}

/// Costs of layers, in the order of their first groups. Consecutive groups with equal names but no
/// layer number share a line.
Expected<std::vector<LayerCost>> layerCosts(func::FuncOp body, const Function &function,
                                            const Dimensions &dims, bool costs) {
  std::vector<LayerCost> layers;
  llvm::DenseSet<Value> counted;
  llvm::StringMap<size_t> places; // of numbered layers
  size_t index = 0;
  for (auto &[group, layer] : layersOf(body)) {
    size_t place = layers.size();
    if (numbered(layer))
      place = places.try_emplace(layer, place).first->second;
    else if (!layers.empty() && layers.back().layer == layer) // merged with the last line only
      --place;
    if (place == layers.size())
      layers.push_back({layer});
    LayerCost &cost = layers[place];
    cost.parameters += newParameters(group, counted);
    if (costs && index < function.launches.size())
      HEDDLE_TRY(addLaunch(function.launches[index], dims, cost));
    ++index;
  }
  return layers;
}

/// `text` padded with spaces to `width` characters.
std::string column(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string costLine(const LayerCost &cost, size_t width, bool costs) {
  std::string line = "      " + column(cost.layer, width) +
                     formatted(" %12lld", static_cast<long long>(cost.parameters));
  if (costs)
    line += formatted(" %12.3f %10.3f", static_cast<double>(cost.flops) / 1e6,
                      static_cast<double>(cost.bytes) / 1e6);
  return line + "\n";
}

std::string repeated(const std::string &layers) { return "      " + layers + "\n"; }

std::string traceLines(func::FuncOp body, const Dimensions &dims, bool all) {
  std::vector<TraceLine> lines = shapeTrace(body);
  std::vector<std::string> layers, shapes;
  size_t width = 0;
  for (const TraceLine &line : lines) {
    width = std::max(width, line.name.size());
    layers.push_back(layerOf(line.name).str());
    std::string &text = shapes.emplace_back("  ");
    // A long line has its first shapes and its last one.
    constexpr size_t most = 6, first = 3;
    const bool isCut = !all && line.shapes.size() > most;
    for (auto [i, shape] : llvm::enumerate(line.shapes))
      if (!isCut || i < first || i + 1 == line.shapes.size())
        text += (i == 0 ? "" : " → ") + traceText(shape, dims);
      else if (i == first)
        text += " → …";
  }
  auto within = [&](size_t i) { return StringRef(lines[i].name).drop_front(layers[i].size()); };
  return (lines.empty() ? "" : "    shapes\n") +
         eachLayerOnce(
             layers,
             [&](size_t a, size_t b) {
               return !all && within(a) == within(b) && shapes[a] == shapes[b];
             },
             [&](size_t i) { return "      " + column(lines[i].name, width) + shapes[i] + "\n"; },
             repeated);
}

} // namespace

Expected<std::string> layerText(func::FuncOp body, const Function &function, const Dimensions &dims,
                                bool all) {
  bool costs = !dims.empty() && allKnown(function, dims);
  auto layers = HEDDLE_TRY(layerCosts(body, function, dims, costs));
  if (layers.empty())
    return std::string();
  size_t width = 5;
  std::vector<std::string> names;
  for (const LayerCost &cost : layers) {
    width = std::max(width, cost.layer.size());
    names.push_back(cost.layer);
  }
  std::string text = "    " + column("layers", width + 2) + "   parameters" +
                     (costs ? "        MFLOP         MB" : "") + "\n";
  text += eachLayerOnce(
      names, [&](size_t a, size_t b) { return !all && layers[a].isAs(layers[b]); },
      [&](size_t i) { return costLine(layers[i], width, costs); }, repeated);
  return text + traceLines(body, dims, all);
}

} // namespace heddle
