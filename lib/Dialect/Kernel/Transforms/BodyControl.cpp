//===- BodyControl.cpp - Loops, branches and loop nests ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits control flow over fragments, and fuses ops on wide tiles into loop
// nests:
//
//   s = contract, t = s * c, m = reduce max t | e = t - m, u = reduce add e | ...
//
// A nest ends at an op that needs the result of one of its reductions, or that
// reads a tile of the nest as a whole, like the left operand of a product.
// Independent scalar ops move before the nest.

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

using namespace mlir;
using namespace heddle::kernel;

//===- Loop nests---------------------------------------------------------===//

/// Whether a branch may be part of a nest, which requires that its ops are elementwise.
static bool isElementwiseBranch(scf::IfOp op) {
  return !op.walk([](Operation *inner) {
              return isa<ProductOpInterface, ReduceOp, StoreOpInterface, scf::ForOp>(inner)
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            }).wasInterrupted();
}

int64_t BodyEmitter::nestColumns(Operation &op) const {
  auto wide = [&](TypeRange types) -> int64_t {
    for (Type type : types)
      if (auto tile = dyn_cast<RankedTensorType>(type);
          tile && tile.getDimSize(1) > 1 && isWide(tile))
        return tile.getDimSize(1);
    return 0;
  };
  if (isa<scf::ForOp, scf::YieldOp>(op))
    return 0;
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return isElementwiseBranch(branch) ? wide(op.getResultTypes()) : 0;
  if (int64_t columns = wide(op.getResultTypes()))
    return columns;
  // A contraction reads its whole left tile.
  return isa<ProductOpInterface>(op) ? 0 : wide(op.getOperandTypes());
}

/// Whether the op reads a result of `ops`, directly or through recomputed ops.
bool BodyEmitter::dependsOn(Operation &op, const OpSet &ops) const {
  return op
      .walk([&](Operation *inner) {
        for (Value operand : inner->getOperands()) {
          Operation *producer = operand.getDefiningOp();
          if (!producer)
            continue;
          if (ops.contains(producer) || (recomputes(*producer) && dependsOn(*producer, ops)))
            return WalkResult::interrupt();
        }
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether a nest of `run` ends before `op` because only one of them is part of a random number. The
/// vectors of 64 columns share work of random numbers, and these are more columns than a register
/// tile has.
static bool separatesRandom(ArrayRef<Operation *> run, Operation *op) {
  auto isRandom = llvm::IsaPred<RandomWordsOp>;
  bool random = llvm::any_of(run, isRandom);
  return random ? isa<ProductOpInterface>(op) : !run.empty() && isRandom(op);
}

/// Collects into `run` the ops that share the column loop of the first op of `ops`, and into
/// `before` the independent ops between them. Returns the number of ops taken.
size_t BodyEmitter::collectRun(ArrayRef<Operation *> ops, SmallVectorImpl<Operation *> &run,
                               SmallVectorImpl<Operation *> &before) const {
  int64_t columns = nestColumns(*ops.front());
  OpSet members, finished;
  size_t taken = 0;
  for (Operation *op : ops) {
    bool lazy = recomputes(*op);
    if (!lazy && dependsOn(*op, finished))
      break;
    if (lazy) {
      ++taken;
      continue;
    }
    if (nestColumns(*op) == columns) {
      // The left tile of a contraction must be complete before the nest.
      auto contract = dyn_cast<ProductOpInterface>(op);
      Operation *left = contract ? contract.getLhs().getDefiningOp() : nullptr;
      if ((left && members.contains(left)) || separatesRandom(run, op))
        break;
      run.push_back(op);
      members.insert(op);
      if (isa<ReduceOp>(op))
        finished.insert(op);
    } else if (!nestColumns(*op) && op->getNumResults() && isMemoryEffectFree(op) &&
               !isa<scf::ForOp>(op) && !isa<ProductOpInterface>(op) && !dependsOn(*op, members)) {
      before.push_back(op);
    } else {
      break;
    }
    ++taken;
  }
  return taken;
}

LogicalResult BodyEmitter::emitOps(ArrayRef<Operation *> ops) {
  while (!ops.empty()) {
    Operation *op = ops.front();
    if (recomputes(*op)) {
      ops = ops.drop_front();
      continue;
    }
    FailureOr<size_t> together = emitTogether(ops);
    if (failed(together))
      return failure();
    if (*together) {
      ops = ops.drop_front(*together);
      continue;
    }
    if (inColumnLoop() || !nestColumns(*op)) {
      if (failed(emitOp(*op)))
        return failure();
      ops = ops.drop_front();
      continue;
    }
    SmallVector<Operation *> run, before;
    size_t taken = collectRun(ops, run, before);
    for (Operation *early : before)
      if (failed(emitOp(*early)))
        return failure();
    if (failed(emitLoopNest(run)))
      return failure();
    ops = ops.drop_front(taken);
  }
  return success();
}

LogicalResult BodyEmitter::emitBlock(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  return emitOps(ops);
}

LogicalResult BodyEmitter::emitLoopNest(ArrayRef<Operation *> run) {
  return run.front()->emitOpError("expected a target that has tiles wider than a fragment");
}

//===- Loops and branches ------------------------------------------------===//

/// Carries tiles through the loop as registers.
LogicalResult BodyEmitter::emitFor(scf::ForOp op) {
  SmallVector<Value> inits, yields;
  for (Value init : op.getInitArgs())
    if (failed(appendRegisters(init, inits)))
      return failure();
  auto loop = scf::ForOp::create(builder, loc, scalar(op.getLowerBound()),
                                 scalar(op.getUpperBound()), scalar(op.getStep()), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    auto saved = fragments;
    builder.setInsertionPointToStart(loop.getBody());
    scalars[op.getInductionVar()] = loop.getInductionVar();
    bindRegisters(op.getRegionIterArgs(), loop.getRegionIterArgs());
    if (failed(emitBlock(*op.getBody())))
      return failure();
    for (Value value : op.getBody()->getTerminator()->getOperands())
      if (failed(appendRegisters(value, yields)))
        return failure();
    if (!yields.empty())
      scf::YieldOp::create(builder, loc, yields);
    fragments = std::move(saved);
  }
  bindRegisters(op.getResults(), loop.getResults());
  return success();
}

/// Emits one side of a branch. Fragments computed inside are not visible outside.
LogicalResult BodyEmitter::emitArm(Region &from, Block *to) {
  OpBuilder::InsertionGuard guard(builder);
  auto saved = fragments;
  builder.setInsertionPointToStart(to);
  if (failed(emitBlock(from.front())))
    return failure();
  SmallVector<Value> yields;
  for (Value value : from.front().getTerminator()->getOperands())
    if (failed(appendRegisters(value, yields)))
      return failure();
  if (!yields.empty())
    scf::YieldOp::create(builder, loc, yields);
  fragments = std::move(saved);
  return success();
}

LogicalResult BodyEmitter::emitIf(scf::IfOp op) {
  SmallVector<Type> types;
  for (Value result : op.getResults())
    appendRegisterTypes(result, types);
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(builder, loc, types, scalar(op.getCondition()), hasElse);
  if (failed(emitArm(op.getThenRegion(), branch.thenBlock())))
    return failure();
  if (hasElse && failed(emitArm(op.getElseRegion(), branch.elseBlock())))
    return failure();
  bindRegisters(op.getResults(), branch.getResults());
  return success();
}
