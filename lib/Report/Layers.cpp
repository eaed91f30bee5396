//===- Layers.cpp - Layers of a model -------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers are found by the names of locations; equal layers by comparing their items one by one.

#include "Layers.h"

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

Value heddle::behindGroups(Value value, llvm::function_ref<bool(Operation *)> isPassed) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto group = dyn_cast<kernel::GroupOp>(argument.getOwner()->getParentOp());
      if (!group)
        return value;
      value = group->getOperand(argument.getArgNumber());
    } else if (auto group = value.getDefiningOp<kernel::GroupOp>()) {
      unsigned index = cast<OpResult>(value).getResultNumber();
      value = group.getBody().front().getTerminator()->getOperand(index);
    } else if (Operation *op = value.getDefiningOp(); op && isPassed && isPassed(op)) {
      value = op->getOperand(0);
    } else {
      return value;
    }
  }
}

StringRef heddle::weightName(Value value) {
  auto weight = behindGroups(value).getDefiningOp<WeightOp>();
  return weight ? weight.getName() : "";
}

std::vector<std::pair<kernel::GroupOp, std::string>> heddle::layersOf(func::FuncOp function) {
  std::vector<std::pair<kernel::GroupOp, std::string>> layers;
  for (auto group : function.getOps<kernel::GroupOp>()) {
    llvm::SetVector<StringRef> several;
    for (Operation &op : group.getBody().getOps())
      if (op.hasTrait<Contracts>())
        several.insert(layerOf(partOf(&op)));
    if (several.empty())
      several.insert(layerOf(partOf(group)));
    std::string layer = llvm::join(several, ", ");
    layers.emplace_back(group, layer.empty() ? group.getName().str() : layer);
  }
  return layers;
}

static bool follows(StringRef before, StringRef after) {
  auto a = numbered(before), b = numbered(after);
  return a && b && a->first == b->first && a->second + 1 == b->second;
}

/// Compares layers with the first one of their run, so that a run of n equal layers needs n - 1
/// comparisons.
std::vector<LayerItems> heddle::layerItems(ArrayRef<std::string> layers, EqualItems equal) {
  std::vector<LayerItems> all;
  for (size_t begin = 0, end = 0; begin < layers.size(); begin = end) {
    for (end = begin + 1; end < layers.size() && layers[end] == layers[begin]; ++end)
      ;
    LayerItems items{layers[begin], begin, end, all.size()};
    if (!all.empty() && follows(all.back().layer, items.layer)) {
      const LayerItems &first = all[all.back().like];
      bool alike = first.end - first.begin == end - begin;
      for (size_t i = begin; alike && i < end; ++i)
        alike = equal(first.begin + i - begin, i);
      if (alike)
        items.like = all.back().like;
    }
    all.push_back(std::move(items));
  }
  return all;
}

std::string heddle::eachLayerOnce(ArrayRef<std::string> layers, EqualItems equal,
                                  llvm::function_ref<std::string(size_t)> text,
                                  llvm::function_ref<std::string(const std::string &)> repeat) {
  std::string result;
  std::vector<LayerItems> all = layerItems(layers, equal);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].like == i) {
      for (size_t item = all[i].begin; item < all[i].end; ++item)
        result += text(item);
      continue;
    }
    const size_t first = i, like = all[i].like;
    while (i + 1 < all.size() && all[i + 1].like == like)
      ++i;
    result += repeat((i > first ? all[first].layer + " … " : "") + all[i].layer + ": as " +
                     all[like].layer);
  }
  return result;
}
