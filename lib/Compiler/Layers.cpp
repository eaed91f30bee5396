//===- Layers.cpp - Where in a model a value belongs ----------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks from a value back to the weight that made it.
//
//===----------------------------------------------------------------------===//

#include "Layers.h"

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

Value heddle::behindGroups(Value value) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto group = dyn_cast<kernel::GroupOp>(argument.getOwner()->getParentOp());
      if (!group)
        return value;
      value = group->getOperand(argument.getArgNumber());
    } else if (auto group = value.getDefiningOp<kernel::GroupOp>()) {
      unsigned index = cast<OpResult>(value).getResultNumber();
      value = group.getBody().front().getTerminator()->getOperand(index);
    } else {
      return value;
    }
  }
}

StringRef heddle::weightName(Value value) {
  auto weight = behindGroups(value).getDefiningOp<WeightOp>();
  return weight ? weight.getName() : "";
}

std::string heddle::layerOf(AttentionOp attention) {
  Value value = behindGroups(attention.getQuery());
  while (Operation *op = value.getDefiningOp()) {
    if (auto linear = dyn_cast<LinearOp>(op)) {
      StringRef name = weightName(linear.getWeight());
      if (!name.consume_back(".query.weight") && !name.consume_back(".query.head.weight"))
        return "";
      name.consume_back(".attention"); // "decoder.3.cross" stays
      return name.str();
    }
    if (op->getNumOperands() == 0)
      break;
    value = behindGroups(op->getOperand(0));
  }
  return "";
}

std::string heddle::layerOfWeight(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  size_t kept = parts.size() > 1 ? parts.size() - 1 : 1;
  for (size_t i = 1; i + 1 < parts.size(); ++i)
    if (llvm::all_of(parts[i], llvm::isDigit)) {
      kept = i + 1;
      break;
    }
  return llvm::join(ArrayRef(parts).take_front(kept), ".");
}

std::string heddle::layerOfLinear(StringRef name) {
  return name.ends_with(".embedding.weight") ? "classifier" : layerOfWeight(name);
}

/// Layers of the weights of a group, each once: projections that share a launch may have several.
static std::string layerOfGroup(kernel::GroupOp group) {
  SmallVector<std::string> layers;
  bool looksUp = !group.getBody().front().getOps<EmbeddingOp>().empty();
  for (Value operand : group->getOperands())
    if (StringRef name = weightName(operand); !name.empty()) {
      std::string layer = looksUp ? layerOfWeight(name) : layerOfLinear(name);
      if (!llvm::is_contained(layers, layer))
        layers.push_back(layer);
    }
  group.walk([&](AttentionOp attention) {
    if (std::string layer = layerOf(attention); layers.empty() && !layer.empty())
      layers.push_back(layerOfWeight(layer + ".attention"));
  });
  return llvm::join(layers, ", ");
}

std::vector<std::pair<kernel::GroupOp, std::string>> heddle::layersOf(func::FuncOp function) {
  std::vector<std::pair<kernel::GroupOp, std::string>> layers;
  for (auto group : function.getOps<kernel::GroupOp>()) {
    std::string layer = layerOfGroup(group);
    if (layer.empty() && !layers.empty())
      layer = layers.back().second;
    layers.emplace_back(group, layer);
  }
  for (auto entry = layers.rbegin(); entry != layers.rend(); ++entry) // what comes before the first
    if (entry->second.empty() && entry != layers.rbegin())
      entry->second = std::prev(entry)->second;
  return layers;
}
