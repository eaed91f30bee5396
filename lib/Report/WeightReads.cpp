//===- WeightReads.cpp - Weights that one row reads -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums the bytes of the weights that a function reads for one row. They are fewer than the bytes of
// the file where a row uses some of the experts, and rows of tables.

#include "heddle/Report/WeightReads.h"

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Program.h"
#include "heddle/Support/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <map>

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

/// The value outside of a group, or inside of it, that an argument or a result of it stands for.
static Value across(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto group = dyn_cast<kernel::GroupOp>(argument.getOwner()->getParentOp()))
      return group->getOperand(argument.getArgNumber());
  if (auto group = value.getDefiningOp<kernel::GroupOp>())
    return group.getBody().front().getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber());
  return {};
}

/// The op of type `Op` that defines a value, in whatever group.
template <typename Op>
static Op definedBy(Value value) {
  while (value && !value.getDefiningOp<Op>())
    value = across(value);
  return value ? value.getDefiningOp<Op>() : Op();
}

/// Experts that a row uses.
static int64_t expertsOfRow(const RowGroups &groups) {
  auto starts = definedBy<ExpertStartsOp>(groups.starts);
  auto counts = starts ? definedBy<ExpertCountsOp>(starts.getCounts()) : ExpertCountsOp();
  return counts ? counts.getExperts().getType().getDimSize(0) : groups.count;
}

/// Adds the weights of a group, as the part of each that a row reads.
static void addGroup(kernel::GroupOp group, std::map<std::string, double> &parts,
                     WeightReads &reads) {
  group.getBody().walk([&](Operation *op) {
    auto known = dyn_cast<TransformerOpInterface>(op);
    const std::optional<RowGroups> groups = known ? known.rowGroups() : std::nullopt;
    for (OpOperand &use : op->getOpOperands()) {
      Value outside = isa<BlockArgument>(use.get()) ? across(use.get()) : Value();
      auto weight = outside ? outside.getDefiningOp<WeightOp>() : WeightOp();
      if (!weight)
        continue;
      double part = 1;
      if (groups) {
        reads.experts = groups->count;
        reads.chosen = expertsOfRow(*groups);
        part = static_cast<double>(reads.chosen) / static_cast<double>(reads.experts);
      } else if (isa<EmbeddingOp>(op)) {
        part = 1.0 / static_cast<double>(cast<ShapedType>(weight.getType()).getDimSize(0));
      }
      double &known = parts[weight.getName().str()];
      known = std::max(known, part);
    }
  });
}

std::vector<WeightReads> heddle::weightReads(ModuleOp fused, const Program &program) {
  std::map<std::string, int64_t> bytes;
  int64_t stored = 0;
  for (const PackEntry &entry : program.pack) {
    bytes[entry.tensor] += 4 * packedElements(entry);
    stored += 4 * packedElements(entry);
  }
  std::vector<WeightReads> list;
  for (auto func : fused.getOps<func::FuncOp>()) {
    WeightReads reads{func.getSymName().str(), 0, stored, 0, 0};
    std::map<std::string, double> parts;
    func.walk([&](kernel::GroupOp group) { addGroup(group, parts, reads); });
    double sum = 0;
    for (const auto &[name, part] : parts)
      sum += part * static_cast<double>(bytes[name]);
    reads.bytes = static_cast<int64_t>(sum);
    if (reads.experts)
      list.push_back(reads);
  }
  return list;
}

std::string heddle::weightReadsText(const std::vector<WeightReads> &list) {
  std::string text;
  for (const WeightReads &reads : list)
    text +=
        reads.function + ": a row uses " + std::to_string(reads.chosen) + " of " +
        std::to_string(reads.experts) +
        formatted(" experts and reads %.2f of %.2f MB of weights\n",
                  static_cast<double>(reads.bytes) / 1e6, static_cast<double>(reads.stored) / 1e6);
  return text;
}
