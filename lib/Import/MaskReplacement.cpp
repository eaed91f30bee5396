//===- MaskReplacement.cpp - Replacing masks in dialect text --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MaskBuilder builds the new mask; the attention that uses the old mask determines the shapes of
// inputs. An omitted offset has the dialect's default, the number of keys minus the number of
// queries.

#include "MaskReplacement.h"

#include "MaskBuilder.h"
#include "StackReader.h"

#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

/// Named mask ops in order.
static SmallVector<Operation *> namedMasks(func::FuncOp func) {
  SmallVector<Operation *> masks;
  func.walk([&](MaskOpInterface mask) {
    if (mask->hasAttrOfType<StringAttr>(TransformerDialect::nameAttr))
      masks.push_back(mask);
  });
  return masks;
}

/// An attention that uses the mask, directly or through other masks; null if none does.
static ScoresOpInterface attentionOf(Operation *mask) {
  for (Operation *user : mask->getUsers()) {
    if (auto attention = dyn_cast<ScoresOpInterface>(user))
      return attention;
    if (isa<MaskOpInterface>(user))
      if (ScoresOpInterface attention = attentionOf(user))
        return attention;
  }
  return {};
}

/// A size as in `transformer.dims`: its name or number, or `own` if it is computed.
static std::string dimText(const SizeExpr &size, const std::string &own) {
  return size.isConstant() || !size.dimName().empty() ? size.str() : own;
}

static Call callOf(ScoresOpInterface attention, const MaskExpression &mask) {
  ShapeExpressions shapes(attention->getParentOfType<func::FuncOp>());
  const Shape &q = shapes.of(attention.getQuery()), &k = shapes.of(attention.getKey());
  Call call;
  call.packed = mask.uses(MaskExpression::Kind::PackedDocuments);
  call.heads = q[1].constantValue();
  call.sizes = {dimText(q[0], "mask.sequences"), dimText(q[2], "mask.queries"),
                dimText(k[2], "mask.keys")};
  return call;
}

/// Erases the mask, the ops that only it used, and the arguments that become unused.
static void eraseMask(Operation *mask, func::FuncOp func) {
  llvm::SetVector<Value> arguments;
  SmallVector<Operation *> open{mask};
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    if (!op->use_empty())
      continue;
    SmallVector<Value> operands;
    op->walk([&](Operation *inner) { llvm::append_range(operands, inner->getOperands()); });
    llvm::SetVector<Operation *> parts;
    for (Value operand : operands)
      if (isa<BlockArgument>(operand) && operand.getParentBlock() == &func.getBody().front())
        arguments.insert(operand);
      else if (Operation *def = operand.getDefiningOp(); isa_and_nonnull<MaskOpInterface>(def))
        parts.insert(def);
    op->erase();
    llvm::append_range(open, parts);
  }
  BitVector unused(func.getNumArguments());
  for (Value argument : arguments)
    if (argument.use_empty())
      unused.set(cast<BlockArgument>(argument).getArgNumber());
  (void)func.eraseArguments(unused);
}

/// Fixes the names of unnamed dimensions, because erasing arguments would renumber them.
static void nameDimensions(func::FuncOp func) {
  ShapeExpressions shapes(func);
  Builder b(func.getContext());
  for (BlockArgument argument : func.getArguments())
    if (isa<RankedTensorType>(argument.getType())) {
      SmallVector<Attribute> dims;
      for (const SizeExpr &size : shapes.of(argument))
        dims.push_back(size.isConstant() ? Attribute(b.getI64IntegerAttr(size.constantValue()))
                                         : Attribute(b.getStringAttr(size.dimName())));
      func.setArgAttr(argument.getArgNumber(), TransformerDialect::dimsAttr, b.getArrayAttr(dims));
    }
}

static Status replace(Operation *mask, const MaskExpression &expression, const std::string &path) {
  auto func = mask->getParentOfType<func::FuncOp>();
  auto name = mask->getAttrOfType<StringAttr>(TransformerDialect::nameAttr);
  ScoresOpInterface attention = attentionOf(mask);
  if (!attention)
    return inputError("--mask " + name.str() + ": expected a mask that an attention of " + path +
                      " uses, found one that is not used");
  std::vector<TensorInfo> tensors;
  TensorNames weights(tensors);
  Description none;
  FunctionBuilder f(func, weights, mask);
  Value made =
      MaskBuilder(none).build(f, expression, /*cross=*/false, callOf(attention, expression));
  HEDDLE_TRY(f.inputsAgree(path));
  made.getDefiningOp()->setAttr(TransformerDialect::nameAttr, name);
  mask->getResult(0).replaceAllUsesWith(made);
  eraseMask(mask, func);
  return {};
}

Status heddle::replaceMasks(ModuleOp module, const std::vector<std::string> &options,
                            const std::string &path) {
  MaskOptions masks = HEDDLE_TRY(MaskOptions::parse(options));
  for (auto func : module.getOps<func::FuncOp>())
    for (Operation *mask : namedMasks(func)) {
      auto name = mask->getAttrOfType<StringAttr>(TransformerDialect::nameAttr);
      const MaskExpression *expression = masks.find(name.str());
      if (!expression)
        continue;
      nameDimensions(func);
      HEDDLE_TRY(replace(mask, *expression, path));
    }
  return masks.allUsed("the transformer.name of a mask op of " + path);
}
