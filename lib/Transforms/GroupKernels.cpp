//===- GroupKernels.cpp - Grouping of fused ops ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the groups that KernelClusters.h finds. First, operands that kernels read in panels and
// that are not computed in panels get a group that copies them. Then every cluster is moved to the
// place of its last op and wrapped in a kernel.group. Ops that are computed again lose their mark,
// because they share the kernels of the ops that they repeat.

#include "KernelClusters.h"

#include "heddle/Dialect/Transformer/IR/TrainingAttributes.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Transforms/Passes.h"
#include "heddle/Transforms/TileableOpInterface.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Threading.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace heddle {
#define GEN_PASS_DEF_GROUPKERNELS
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using heddle::kernel::GroupOp;

/// Moves weights, constants and lengths to the top, so that groups can move freely after them.
static void hoistOperands(func::FuncOp func) {
  Block &body = func.getBody().front();
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!staysBetweenKernels(&op) || op.getNumResults() == 0)
      continue;
    if (last)
      op.moveAfter(last);
    else
      op.moveBefore(&body, body.begin());
    last = &op;
  }
}

//===- Panels ------------------------------------------------------------===//

/// Whether the value is computed in panels.
static bool canBeStoredInPanels(Value value) {
  if (stateOf(value))
    return true;
  Value made = beforeRounding(value);
  bool isRounded = made != value;
  Operation *op = made.getDefiningOp();
  bool isStored = op ? rootOf(op) == kernel::Root::Relayout : isRounded;
  return isStored && llvm::all_of(value.getUses(), readInPanels);
}

/// Creates a copy of a value in panels. With `starts`, panels restart at each document.
static Value relayout(OpBuilder &builder, Value value, Value starts, Location loc) {
  SmallVector<Value> operands{value};
  if (starts)
    operands.push_back(starts);
  auto group = GroupOp::create(builder, loc, TypeRange(value.getType()), operands,
                               kernel::Root::Relayout, "pack_keys");
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locs(operands.size(), loc);
  Block *block = builder.createBlock(&group.getBody(), {}, ValueRange(operands).getTypes(), locs);
  kernel::YieldOp::create(builder, loc, block->getArgument(0));
  return group.getResult(0);
}

/// Returns the starts of the documents at which the panels that `op` reads restart, or null. Returned
/// weights cover all pairs, so their keys are packed without regard to documents.
static Value startsOfPanels(ScoresOpInterface op) {
  MaskDocumentsOp documents = packedDocumentsOf(op.getMask());
  if (!documents || rootOf(op) == kernel::Root::Weights)
    return {};
  return op.rowsAreKeys() ? documents.getQueries() : documents.getKeys();
}

/// Copies the operands that kernels read in panels and that are not computed in panels; a group
/// that yields its first argument is a relayout. Packed documents need panels that restart at each
/// document, given by the starts in the group's second argument.
static void addPanelRelayouts(func::FuncOp func) {
  OpBuilder builder(func.getContext());
  DenseMap<std::pair<Value, Value>, Value> copies;
  func.walk([&](ScoresOpInterface op) { op.addRows(); });
  func.walk([&](ScoresOpInterface op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get(), starts = startsOfPanels(op);
      if (!op.readsInPanels(operand) || (!starts && canBeStoredInPanels(value)))
        continue;
      Value &copy = copies[{value, starts}];
      builder.setInsertionPoint(op);
      if (!copy)
        copy = relayout(builder, value, starts, op.getLoc());
      operand.set(copy);
    }
  });
}

//===- Groups ------------------------------------------------------------===//

/// Builds a kernel name from its ops: "linear_relu_add", or "linear3_heads" for three parts that
/// store heads.
static std::string nameOf(const Cluster &cluster) {
  std::string name = stringifyRoot(cluster.root).str();
  if (cluster.root != kernel::Root::Linear)
    return name;
  llvm::SetVector<StringRef> words;
  int parts = 0;
  for (Operation *op : cluster.ops) {
    parts += rootOf(op) == cluster.root;
    if (StringRef word = cast<TileableOpInterface>(op).getNameWord(); !word.empty())
      words.insert(word);
  }
  if (parts > 1)
    name += std::to_string(parts);
  for (StringRef word : words)
    name += "_" + word.str();
  return name;
}

/// Collects the masks and rules that `value` depends on, operands first, without duplicates.
static void collectRules(Value value, llvm::SetVector<Operation *> &rules) {
  Operation *op = value.getDefiningOp();
  if (!op || !isRule(op) || rules.contains(op))
    return;
  for (Value operand : op->getOperands())
    collectRules(operand, rules);
  rules.insert(op);
}

/// Returns the values that an op reads, including the captures of a formula.
static SmallVector<Value> readBy(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::SetVector<Value> captured;
  mlir::getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::append_range(values, captured);
  return values;
}

/// Clones a cluster and its rules into a group. Readers outside read the group's results.
static void build(OpBuilder &builder, const Cluster &cluster) {
  llvm::SetVector<Operation *> all;
  for (Operation *op : cluster.ops) {
    for (Value operand : op->getOperands())
      collectRules(operand, all);
    all.insert(op);
  }
  llvm::SetVector<Value> operands, results;
  for (Operation *op : all) {
    for (Value operand : readBy(op))
      if (!operand.getDefiningOp() || !all.contains(operand.getDefiningOp()))
        operands.insert(operand);
    for (Value result : op->getResults())
      if (!isRule(op) &&
          llvm::any_of(result.getUsers(), [&](Operation *user) { return !all.contains(user); }))
        results.insert(result);
  }
  Operation *last = cluster.ops.back();
  builder.setInsertionPoint(last);
  SmallVector<Type> types(llvm::map_range(results, [](Value v) { return v.getType(); }));
  auto group = GroupOp::create(builder, last->getLoc(), types, operands.getArrayRef(), cluster.root,
                               nameOf(cluster));
  if (!cluster.missed.empty())
    group->setAttr("missed_fusions", builder.getArrayAttr(cluster.missed));

  Block *block = builder.createBlock(&group.getBody());
  IRMapping mapping;
  for (Value operand : operands)
    mapping.map(operand, block->addArgument(operand.getType(), operand.getLoc()));
  for (Operation *op : all)
    builder.clone(*op, mapping)->removeAttr(isAgain);
  SmallVector<Value> yields(llvm::map_range(results, [&](Value v) { return mapping.lookup(v); }));
  kernel::YieldOp::create(builder, last->getLoc(), yields);
  for (auto [original, replacement] : llvm::zip(results, group.getResults()))
    Value(original).replaceUsesWithIf(
        replacement, [&](OpOperand &use) { return !all.contains(use.getOwner()); });
  for (Operation *op : llvm::reverse(cluster.ops))
    op->erase();
}

static LogicalResult groupKernels(func::FuncOp func) {
  hoistOperands(func);
  addPanelRelayouts(func);
  FailureOr<SmallVector<Cluster>> clusters = findClusters(func);
  if (failed(clusters))
    return failure(); // findClusters has reported the error
  OpBuilder builder(func.getContext());
  for (const Cluster &cluster : *clusters)
    build(builder, cluster);
  // A group replaces its last op, so readers of its earlier results move after it.
  mlir::sortTopologically(&func.getBody().front());
  // Masks and rules have been cloned into the groups that use them.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
    if (isRule(&op) && op.use_empty())
      op.erase();
  return success();
}

namespace {
struct GroupKernels : heddle::impl::GroupKernelsBase<GroupKernels> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration())
        functions.push_back(func);
    if (failed(failableParallelForEach(&getContext(), functions, groupKernels)))
      return signalPassFailure();
  }
};
} // namespace
