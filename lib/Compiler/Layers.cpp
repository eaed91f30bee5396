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

std::string heddle::layerOf(AttentionOp attention) {
  Value value = behindGroups(attention.getQuery());
  while (Operation *op = value.getDefiningOp()) {
    if (auto linear = dyn_cast<LinearOp>(op)) {
      auto weight = behindGroups(linear.getWeight()).getDefiningOp<WeightOp>();
      StringRef name = weight ? weight.getName() : "";
      if (!name.consume_back(".query.weight"))
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
