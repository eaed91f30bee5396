//===- ShapeExpressions.cpp - Symbolic shapes of a function ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Infers symbolic shapes in one forward walk, in which each op uses
// TransformerOpInterface.

#include "heddle/Analysis/ShapeExpressions.h"

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/MergedHeads.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

ShapeExpressions::ShapeExpressions(func::FuncOp func) {
  if (auto module = func->getParentOfType<ModuleOp>())
    for (auto state : module.getOps<StateOp>())
      states[state.getSymNameAttr()] = dimsFromAttr(state.getDims());
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (isa<ShapedType>(func.getArgument(i).getType()))
      argument(func, i);
  for (Operation &op : func.getBody().front())
    visit(&op);
}

/// `name`, extended by underscores until no dimension of an argument has it.
static std::string freeName(func::FuncOp func, std::string name) {
  auto isGiven = [&](unsigned argument) {
    auto dims = func.getArgAttrOfType<ArrayAttr>(argument, "transformer.dims");
    return dims && llvm::is_contained(dims, StringAttr::get(func.getContext(), name));
  };
  while (llvm::any_of(llvm::seq(func.getNumArguments()), isGiven))
    name += "_";
  return name;
}

/// Sets the shape of an argument. Unnamed dimensions are named after the argument's position,
/// because an argument's name may be any text.
void ShapeExpressions::argument(func::FuncOp func, unsigned index) {
  Value value = func.getArgument(index);
  Shape shape = staticShape(value.getType());
  if (auto dims = func.getArgAttrOfType<ArrayAttr>(index, "transformer.dims"))
    shape = dimsFromAttr(dims);
  std::string base = "arg" + std::to_string(index) + ".";
  for (auto [i, size] : llvm::enumerate(cast<ShapedType>(value.getType()).getShape())) {
    if (ShapedType::isDynamic(size) && shape[i].isConstant() && shape[i].constantValue() < 0)
      shape[i] = SizeExpr::dim(freeName(func, base + std::to_string(i)));
    shape[i].collectDims(names);
  }
  if (auto broadcast = func.getArgAttrOfType<ArrayAttr>(index, "transformer.broadcast"))
    for (auto [size, full] : llvm::zip(shape, sizesFromAttr(broadcast)))
      if (!(size == full) && !size.dimName().empty())
        oneOrFull.insert(size.dimName());
  shapes[value] = std::move(shape);
}

/// Infers the shapes of an op. An addition requires equal shapes; other ops without the interface
/// work row by row.
void ShapeExpressions::visit(Operation *op) {
  if (isa<kernel::GroupOp>(op))
    return visitGroup(op);
  if (auto known = dyn_cast<TransformerOpInterface>(op))
    return known.inferShapes(*this);
  if (isa<arith::AddFOp>(op) && knows(op->getOperand(0)))
    for (auto [a, b] : llvm::zip(of(op->getOperand(0)), of(op->getOperand(1))))
      require(a, b, "the terms of an addition");
  inferRows(op);
}

/// Passes shapes into a group through its arguments and out through its results.
void ShapeExpressions::visitGroup(Operation *op) {
  auto group = cast<kernel::GroupOp>(op);
  Block &body = group.getBody().front();
  for (auto [argument, operand] : llvm::zip(body.getArguments(), op->getOperands()))
    if (auto it = shapes.find(operand); it != shapes.end()) {
      Shape shape = it->second;
      shapes[argument] = std::move(shape);
    }
  for (Operation &inner : body)
    visit(&inner);
  for (auto [result, value] : llvm::zip(op->getResults(), body.getTerminator()->getOperands())) {
    Shape shape = shapes.lookup(value);
    shapes[result] = std::move(shape);
  }
}

int64_t heddle::paddedHeadsOfContext(kernel::GroupOp group, Value yielded) {
  auto merge = beforeRounding(yielded).getDefiningOp<MergeHeadsOp>();
  if (!merge || group.getRoot() != kernel::Root::Attention)
    return 0;
  const int64_t size = cast<ShapedType>(merge.getInput().getType()).getDimSize(3);
  return transformer::padsHeads(merge) ? size : 0;
}

int64_t heddle::paddedHeadsOfProduct(Value product) {
  while (product.hasOneUse()) {
    Operation *next = *product.getUsers().begin();
    if (auto split = dyn_cast<SplitHeadsOp>(next)) {
      auto heads = cast<ShapedType>(split.getResult().getType());
      const int64_t size = heads.getDimSize(3);
      const bool isRotated =
          llvm::any_of(split->getUsers(), [](Operation *user) { return isa<RotaryOp>(user); });
      return size % 16 != 0 && (isRotated || padsHeads(heads.getDimSize(1), size)) ? size : 0;
    }
    if (next->getNumResults() != 1)
      break;
    product = next->getResult(0);
  }
  return 0;
}
