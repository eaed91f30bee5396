//===- KeptValues.cpp - Values that the backward pass reads ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the fused module. The group with the gradient of the loss ends the forward pass of the
// function `gradients`; a result of an earlier group that a later one reads is kept.

#include "heddle/Report/KeptValues.h"

#include "Layers.h"
#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Compiler/Models.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TrainingAttributes.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Program.h"
#include "heddle/Support/Try.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::GroupOp;

static std::string nameOf(Operation *op) { return op->getName().getStringRef().str(); }

/// Adds the ops of a group that read an argument.
static void addReaders(GroupOp group, unsigned operand, std::vector<std::string> &names) {
  for (Operation &op : group.getBody().front().without_terminator())
    if (llvm::is_contained(op.getOperands(), group.getBody().getArgument(operand)) &&
        !llvm::is_contained(names, nameOf(&op)))
      names.push_back(nameOf(&op));
}

/// The rows of a value, and the bytes of each: its static sizes.
static void setSize(Value value, const ShapeExpressions &shapes, KeptValue &kept) {
  auto type = cast<RankedTensorType>(value.getType());
  kept.bytes = std::max<int64_t>(type.getElementTypeBitWidth() / 8, 1);
  for (const SizeExpr &size : shapes.of(value))
    if (size.isConstant())
      kept.bytes *= size.constantValue();
    else
      kept.rows += (kept.rows.empty() ? "" : "*") + size.str();
}

/// The kept value of a group's result; its list of readers is empty if it is not kept.
static KeptValue keptValue(OpResult result, GroupOp root, const ShapeExpressions &shapes) {
  auto group = cast<GroupOp>(result.getOwner());
  KeptValue kept;
  for (OpOperand &use : result.getUses())
    if (auto reader = dyn_cast<GroupOp>(use.getOwner()); reader && root->isBeforeInBlock(reader))
      addReaders(reader, use.getOperandNumber(), kept.readers);
  Value yielded = group.getBody().front().getTerminator()->getOperand(result.getResultNumber());
  Operation *op = yielded.getDefiningOp() ? yielded.getDefiningOp() : group;
  kept.op = op == group ? group.getName().str() : nameOf(op); // a copy in panels has no op
  kept.part = partOf(op).str();
  kept.layer = layerOf(kept.part).str();
  setSize(result, shapes, kept);
  return kept;
}

std::vector<KeptValue> heddle::keptValues(ModuleOp fused) {
  auto gradients = fused.lookupSymbol<func::FuncOp>(gradientsFunction);
  GroupOp root;
  if (gradients)
    gradients.walk([&](CrossEntropyGradientOp op) { root = op->getParentOfType<GroupOp>(); });
  if (!root)
    return {};
  const ShapeExpressions shapes(gradients);
  std::vector<KeptValue> values;
  for (auto group : gradients.getOps<GroupOp>())
    for (OpResult result : group->getResults())
      if (KeptValue kept = keptValue(result, root, shapes);
          group->isBeforeInBlock(root) && !kept.readers.empty())
        values.push_back(std::move(kept));
  return values;
}

/// Whether two values differ in nothing but the number of their layer.
static bool areAlike(const KeptValue &a, const KeptValue &b) {
  auto within = [](const KeptValue &v) { return v.part.substr(v.layer.size()); };
  return a.op == b.op && a.readers == b.readers && a.rows == b.rows && a.bytes == b.bytes &&
         within(a) == within(b);
}

std::string heddle::keptValuesText(const std::vector<KeptValue> &values, bool all) {
  std::vector<std::string> layers;
  llvm::MapVector<StringRef, int64_t> sums;
  for (const KeptValue &value : values) {
    layers.push_back(value.layer);
    sums[value.rows] += value.bytes;
  }
  std::string text = "values that the backward pass reads, and bytes\n";
  text += eachLayerOnce(
      layers, [&](size_t a, size_t b) { return !all && areAlike(values[a], values[b]); },
      [&](size_t item) {
        const KeptValue &value = values[item];
        return "  " + value.op + (value.part.empty() ? "" : " (" + value.part + ")") + "\n    " +
               value.rows + "*" + std::to_string(value.bytes) + ", read by " +
               llvm::join(value.readers, ", ") + "\n";
      },
      [](const std::string &repeated) { return "  " + repeated + "\n"; });
  for (const auto &[rows, bytes] : sums)
    text += "sum " + rows.str() + "*" + std::to_string(bytes) + "\n";
  return text;
}

/// Whether examples are packed into one row, or why they are padded.
static std::string examplesText(ModuleOp module) {
  if (module.lookupSymbol(packedGradientsFunction))
    return "examples: packed, without padding\n";
  auto why = module->getAttrOfType<StringAttr>(paddedBecause);
  return "examples: padded to equal lengths" + (why ? "; " + why.str() : "") + "\n";
}

Expected<std::string> heddle::explainKept(const std::string &model, const CompileOptions &options,
                                          bool all) {
  OpenedModel opened = HEDDLE_TRY(OpenedModel::plan(model, options));
  return keptValuesText(keptValues(opened.module()), all) + examplesText(opened.module());
}
