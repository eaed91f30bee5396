//===- KernelClusters.cpp - Which ops share a kernel ----------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks a function once. Each root takes the ops that can follow it on its tiles:
//
//   linear ── activation ── + residual ── split_heads ── cache.append | state.set
//     (up to three of these over the same rows)
//
//   attention (with its mask ops) ── merge_heads
//
//   embedding ── position
//
// The last value of each is rounded (arith.truncf) where it is stored, also where it is stored as
// it is besides. What cannot follow is written down with its reason.
//
//===----------------------------------------------------------------------===//

#include "KernelClusters.h"

#include "heddle/Analysis/FusionRefusal.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

namespace {

/// A launch runs at most this many contractions: queries, keys and values of one attention.
constexpr size_t maxParts = 3;

class ClusterFinder {
public:
  explicit ClusterFinder(func::FuncOp func) : func(func), builder(func.getContext()) {}
  FailureOr<SmallVector<Cluster>> run();

private:
  LogicalResult collect(Operation &op);
  LogicalResult collectAttention(AttentionOp op);
  LogicalResult collectRounding(arith::TruncFOp op);
  Cluster linearChain(LinearOp op);
  void mergeParts(Cluster &first, LinearOp op);
  void extend(Cluster &cluster, function_ref<bool(Operation *)> accepts);
  bool addRounding(Cluster &cluster);
  std::optional<FusionRefusal> refusalOf(Value value, Operation *&reader);
  void refuse(Cluster &cluster, Operation *op, Operation *reader, FusionRefusal reason);
  bool readersFollow(ArrayRef<Operation *> ops);
  void claim(Cluster cluster);

  func::FuncOp func;
  Builder builder;
  SmallVector<Cluster> clusters;
  llvm::SmallPtrSet<Operation *, 32> claimed;
};

} // namespace

bool heddle::transformer::isRule(Operation *op) {
  return op->getNumResults() == 1 && isa<MaskType, BiasType>(op->getResult(0).getType());
}

/// Ops that stay outside clusters: operands, the session's bookkeeping, and groups.
static bool staysOutside(Operation *op) {
  return isa<WeightOp, arith::ConstantOp, CacheLengthOp, CacheClearOp, CacheReorderOp, StateGetOp,
             kernel::GroupOp, func::ReturnOp>(op);
}

/// What the result of a chain of a linear ends in: the attention that reads it, or the stack of
/// states it is stored in.
static const void *sinkOf(Operation *last) {
  if (auto set = dyn_cast<StateSetOp>(last))
    return StringAttr::get(last->getContext(), set.getState().rsplit('.').first)
        .getAsOpaquePointer();
  // Weights and statistics read queries and keys too; of several attentions the last counts.
  Operation *found = nullptr;
  if (last->getNumResults() == 1)
    for (Operation *reader : last->getResult(0).getUsers())
      if (isa<AttentionOp>(reader) && (!found || found->isBeforeInBlock(reader)))
        found = reader;
  return found;
}

FailureOr<SmallVector<Cluster>> ClusterFinder::run() {
  for (Operation &op : func.getBody().front())
    if (!claimed.contains(&op) && failed(collect(op)))
      return failure(); // collect said why
  return std::move(clusters);
}

/// Whether the statistics are those of the attention's rows.
static bool sameScores(AttentionOp attention, AttentionStatisticsOp stats) {
  return stats.getQuery() == attention.getQuery() && stats.getMask() == attention.getMask() &&
         stats.getBias() == attention.getBias() && stats.getSinks() == attention.getSinks() &&
         stats.getSoftcapAttr() == attention.getSoftcapAttr() &&
         stats.getHiddenScoreAttr() == attention.getHiddenScoreAttr() &&
         stats.getScaleAttr() == attention.getScaleAttr();
}

/// Attention leaves heads that are no multiple of 16 wide padded one by one. The weight of a
/// projection is packed alike and a result is copied head by head; other readers want whole rows.
static bool needsWholeRows(MergeHeadsOp merge) {
  auto heads = cast<ShapedType>(merge->getOperand(0).getType());
  if (heads.getDimSize(1) == 1 || heads.getDimSize(3) % 16 == 0)
    return false;
  auto takesHeads = [](OpOperand &use) {
    return isa<func::ReturnOp>(use.getOwner()) ||
           (isa<LinearOp>(use.getOwner()) && use.getOperandNumber() == 0);
  };
  return !llvm::all_of(merge->getUses(), [&](OpOperand &use) {
    auto round = dyn_cast<arith::TruncFOp>(use.getOwner());
    return round ? llvm::all_of(round->getUses(), takesHeads) : takesHeads(use);
  });
}

LogicalResult ClusterFinder::collect(Operation &op) {
  if (staysOutside(&op) || isRule(&op))
    return success();
  auto single = [&](StringRef root, function_ref<bool(Operation *)> accepts) {
    Cluster cluster{root, {&op}, {}, nullptr};
    extend(cluster, accepts);
    claim(std::move(cluster));
    return success();
  };
  auto nothing = [](Operation *) { return false; };
  auto rounds = [](Operation *next) { return isa<arith::TruncFOp>(next); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<LinearOp>([&](LinearOp linear) {
        Cluster cluster = linearChain(linear);
        mergeParts(cluster, linear);
        claim(std::move(cluster));
        return success();
      })
      .Case<AttentionOp>([&](AttentionOp attention) { return collectAttention(attention); })
      .Case<AttentionWeightsOp>([&](auto) { return single("weights", nothing); })
      .Case<LayerNormOp, RmsNormOp>([&](auto) { return single("norm", rounds); })
      .Case<PoolOp>([&](auto) { return single("pool", rounds); })
      .Case<QuantizeOp>([&](auto) { return single("quantize", nothing); })
      .Case<PatchesOp>([&](auto) { return single("patches", rounds); })
      .Case<SoftmaxOp>([&](auto) { return single("softmax", rounds); })
      .Case<CrossEntropyRowsOp>([&](auto) { return single("loss", nothing); })
      .Case<CrossEntropyMeanOp>([&](auto) { return single("loss_mean", nothing); })
      .Case<ShiftRightOp>([&](auto) { return single("shift", nothing); })
      .Case<EmbeddingOp>([&](auto) {
        return single("embedding", [](Operation *next) {
          return isa<PositionSinusoidalOp, PositionLearnedOp, arith::TruncFOp>(next);
        });
      })
      .Case<ConcatOp, PositionSinusoidalOp, PositionLearnedOp, arith::AddFOp>([&](auto) {
        return single("elementwise", [](Operation *next) {
          return isa<PositionSinusoidalOp, PositionLearnedOp, arith::AddFOp, arith::TruncFOp>(next);
        });
      })
      .Case<arith::TruncFOp>([&](arith::TruncFOp round) { return collectRounding(round); })
      .Case<SplitHeadsOp>([&](auto) {
        return single("relayout", [](Operation *next) {
          return isa<CacheAppendOp, StateSetOp, arith::TruncFOp>(next);
        });
      })
      .Case<MergeHeadsOp>([&](auto) { return single("relayout", rounds); })
      .Case<CacheAppendOp, StateSetOp>([&](auto) { return single("relayout", nothing); })
      .Default([](Operation *other) {
        return other->emitOpError(
            "expected an op that kernels can be made of, found one that is not built yet");
      });
}

/// Attention, its heads side by side, and the statistics, a by-product of the same loop.
LogicalResult ClusterFinder::collectAttention(AttentionOp op) {
  Cluster cluster{"attention", {op}, {}, nullptr};
  extend(cluster, [](Operation *next) {
    auto merge = dyn_cast<MergeHeadsOp>(next);
    return isa<arith::TruncFOp>(next) || (merge && !needsWholeRows(merge));
  });
  for (Operation *user : op.getKey().getUsers())
    if (auto stats = dyn_cast<AttentionStatisticsOp>(user); stats && sameScores(op, stats))
      cluster.ops.push_back(stats);
  claim(std::move(cluster));
  return success();
}

/// Of an argument, or of what a kernel stores that cannot round: a kernel of its own.
LogicalResult ClusterFinder::collectRounding(arith::TruncFOp op) {
  bool heads = cast<RankedTensorType>(op.getType()).getRank() == 4;
  Cluster cluster{heads ? "relayout" : "elementwise", {op}, {}, nullptr};
  extend(cluster, [&](Operation *next) { return heads && isa<CacheAppendOp, StateSetOp>(next); });
  claim(std::move(cluster));
  return success();
}

Cluster ClusterFinder::linearChain(LinearOp op) {
  Cluster cluster{"linear", {op}, {}, nullptr};
  bool heads = false, rounded = false;
  extend(cluster, [&](Operation *next) {
    if (isa<arith::AddFOp>(next))
      return !heads && !rounded;
    if (isa<arith::TruncFOp>(next))
      return rounded = true;
    if (isa<SplitHeadsOp>(next))
      return !rounded && (heads = true);
    return heads && isa<CacheAppendOp, StateSetOp>(next);
  });
  cluster.sink = sinkOf(cluster.ops.back());
  return cluster;
}

/// Takes further linears over the same rows as parts of the same launch.
void ClusterFinder::mergeParts(Cluster &first, LinearOp op) {
  size_t parts = 1;
  for (Operation *user :
       llvm::to_vector(llvm::reverse(llvm::to_vector(op.getInput().getUsers())))) {
    auto other = dyn_cast<LinearOp>(user);
    if (!other || other == op || claimed.contains(other) || other->getBlock() != op->getBlock())
      continue;
    Cluster chain = linearChain(other);
    if (llvm::any_of(chain.ops, [&](Operation *o) { return llvm::is_contained(first.ops, o); }))
      continue; // both end in one sum, which is the epilogue of the first
    if (!first.sink || chain.sink != first.sink) {
      refuse(first, op, other, FusionRefusal::OtherReader);
      continue;
    }
    if (parts == maxParts) {
      refuse(first, op, other, FusionRefusal::TooManyParts);
      continue;
    }
    SmallVector<Operation *> merged(first.ops);
    merged.append(chain.ops);
    llvm::sort(merged, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    if (!readersFollow(merged)) {
      refuse(first, op, other, FusionRefusal::ConsumerBetween);
      continue;
    }
    first.ops = std::move(merged);
    first.refusals.append(chain.refusals);
    ++parts;
  }
}

/// Appends readers as long as they are alone and acceptable; notes why it ends.
void ClusterFinder::extend(Cluster &cluster, function_ref<bool(Operation *)> accepts) {
  while (cluster.ops.back()->getNumResults() >= 1) {
    Operation *last = cluster.ops.back(), *reader = nullptr;
    std::optional<FusionRefusal> reason = refusalOf(last->getResult(0), reader);
    if (!reason && accepts(reader) && !claimed.contains(reader)) {
      cluster.ops.push_back(reader);
      continue;
    }
    if (reason && addRounding(cluster))
      return;
    if (!reason)
      reason = isa<MergeHeadsOp>(reader) ? FusionRefusal::UnevenHeads
               : isa<LayerNormOp, RmsNormOp, PoolOp, SoftmaxOp, QuantizeOp, CrossEntropyRowsOp,
                     CrossEntropyMeanOp>(reader)
                   ? FusionRefusal::RowReduction
               : isa<LinearOp, AttentionOp, AttentionStatisticsOp, AttentionWeightsOp>(reader)
                   ? FusionRefusal::SecondContraction
                   : FusionRefusal::NoEpilogue;
    if (isa<arith::TruncFOp>(last) && cluster.ops.size() > 1) // people know the op that it rounds
      last = last->getOperand(0).getDefiningOp();
    if (reader)
      refuse(cluster, last, reader, *reason);
    return;
  }
}

/// A value that is read as it is and rounded is stored in both forms. The rounding stands right
/// behind the value, so that no reader is in front of it.
bool ClusterFinder::addRounding(Cluster &cluster) {
  Operation *last = cluster.ops.back();
  for (Operation *user : last->getResult(0).getUsers())
    if (auto round = dyn_cast<arith::TruncFOp>(user);
        round && !claimed.contains(round) && round->getPrevNode() == last) {
      cluster.ops.push_back(round);
      return true;
    }
  return false;
}

/// Why no single reader can follow `value`, or none and the reader; no reader where nothing but the
/// function's result reads it.
std::optional<FusionRefusal> ClusterFinder::refusalOf(Value value, Operation *&reader) {
  bool returned = false;
  for (Operation *user : value.getUsers())
    if (isa<func::ReturnOp>(user))
      returned = true;
    else
      reader = user; // the list is backwards: this ends with the first one
  if (returned || !reader)
    return FusionRefusal::FunctionResult;
  if (isa<CacheAppendOp>(value.getDefiningOp()))
    return FusionRefusal::SessionState;
  if (!value.hasOneUse())
    return FusionRefusal::SeveralUses;
  return std::nullopt;
}

void ClusterFinder::refuse(Cluster &cluster, Operation *op, Operation *reader,
                           FusionRefusal reason) {
  NamedAttrList entry;
  entry.append("op", builder.getStringAttr(op->getName().getStringRef()));
  entry.append("with", builder.getStringAttr(reader ? reader->getName().getStringRef()
                                                    : StringRef("several")));
  entry.append("reason", builder.getStringAttr(toString(reason)));
  cluster.refusals.push_back(entry.getDictionary(builder.getContext()));
}

/// A group stands where its last op stands: everything that reads it has to come later.
bool ClusterFinder::readersFollow(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 8> inside(llvm::from_range, ops);
  return llvm::all_of(ops, [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return inside.contains(user) || ops.back()->isBeforeInBlock(user);
    });
  });
}

void ClusterFinder::claim(Cluster cluster) {
  llvm::sort(cluster.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  claimed.insert_range(cluster.ops);
  clusters.push_back(std::move(cluster));
}

FailureOr<SmallVector<Cluster>> heddle::transformer::findClusters(func::FuncOp func) {
  return ClusterFinder(func).run();
}
