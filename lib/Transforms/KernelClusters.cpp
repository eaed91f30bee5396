//===- KernelClusters.cpp - Fusion of ops into kernels --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fusion, in one walk over a function. Each op that begins a kernel takes the ops that can follow
// it on its tiles (Tilers.cpp). Up to three linears over the same rows share a kernel. The last
// value of a chain is rounded (arith.truncf) when it is stored, even if it is also stored
// unrounded. Missed fusions are recorded with their reasons.

#include "KernelClusters.h"

#include "heddle/Analysis/MissedFusion.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Planning/LinearColumns.h"
#include "heddle/Transforms/TileableOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

namespace {

/// Maximum number of contractions in a launch: queries, keys and values of one attention.
constexpr size_t maxParts = 3;

/// Greedy in program order: an op belongs to the first kernel that can take it.
class ClusterFinder {
public:
  explicit ClusterFinder(func::FuncOp func) : func(func), builder(func.getContext()) {}
  FailureOr<SmallVector<Cluster>> run();

private:
  LogicalResult collect(Operation &op);
  Cluster chainFrom(Operation *op, kernel::Root root);
  void addStatistics(Cluster &cluster, ScoresOpInterface scores);
  void addScales(Cluster &cluster, CacheQuantizeOp op);
  SmallVector<Operation *> nextProducts(Operation *op);
  void mergeParts(Cluster &first, Operation *op);
  void extend(Cluster &cluster);
  bool addRounding(Cluster &cluster);
  std::optional<MissedFusion> missedFusionOf(Value value, Operation *&reader);
  void addMissed(Cluster &cluster, Operation *op, Operation *reader, MissedFusion reason);
  bool readersFollow(ArrayRef<Operation *> ops);
  void claim(Cluster cluster);

  func::FuncOp func;
  Builder builder;
  SmallVector<Cluster> clusters;
  llvm::SmallPtrSet<Operation *, 32> claimed;
  /// Products that read rows, by the rows and their groups, in block order.
  llvm::DenseMap<std::pair<Value, Value>, std::vector<Operation *>> products;
};

} // namespace

bool heddle::transformer::isRule(Operation *op) {
  return op->getNumResults() == 1 && isa<MaskType, BiasType>(op->getResult(0).getType());
}

/// Sorts ops of one block.
static void inBlockOrder(SmallVectorImpl<Operation *> &ops) {
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
}

/// Whether a separate kernel stores an operand in another layout: keys in panels, or rotated heads.
static bool isRelayout(Operation *op) {
  auto group = dyn_cast<kernel::GroupOp>(op);
  return group ? group.getRoot() == kernel::Root::Relayout : rootOf(op) == kernel::Root::Relayout;
}

/// Returns the last attention of the block that reads `value`, directly or after a relayout. The
/// last is needed because weights and statistics also read queries and keys.
static Operation *attentionThatReads(Value value) {
  Operation *last = nullptr;
  for (Operation *reader : value.getUsers()) {
    Operation *found = rootOf(reader) == kernel::Root::Attention ? reader
                       : isRelayout(reader) && reader->getNumResults() > 0
                           ? attentionThatReads(reader->getResult(0))
                           : nullptr;
    if (found && (!last || last->isBeforeInBlock(found)))
      last = found;
  }
  return last;
}

/// Destination of a chain that ends in `last`.
static Sink sinkOf(Operation *last) {
  if (auto set = dyn_cast<StateSetOp>(last))
    return {nullptr, StringAttr::get(last->getContext(), set.getState().rsplit('.').first)};
  if (last->getNumResults() != 1)
    return {};
  return {attentionThatReads(last->getResult(0)), {}};
}

FailureOr<SmallVector<Cluster>> ClusterFinder::run() {
  for (Operation &op : func.getBody().front())
    if (!claimed.contains(&op) && failed(collect(op)))
      return failure(); // collect has reported the error
  return std::move(clusters);
}

/// Makes a cluster around an op that is in no cluster yet.
LogicalResult ClusterFinder::collect(Operation &op) {
  if (isa<kernel::GroupOp, func::ReturnOp>(op) || staysBetweenKernels(&op) || isRule(&op))
    return success();
  std::optional<kernel::Root> root = rootOf(&op);
  if (!root)
    return op.emitOpError("expected an op that kernels can be made of, found one that is not "
                          "supported yet");
  Cluster cluster = chainFrom(&op, *root);
  if (*root == kernel::Root::Linear)
    mergeParts(cluster, &op);
  if (auto scores = dyn_cast<ScoresOpInterface>(op))
    addStatistics(cluster, scores);
  if (auto quantize = dyn_cast<CacheQuantizeOp>(op))
    addScales(cluster, quantize);
  claim(std::move(cluster));
  return success();
}

/// Returns the chain of `op` and the readers that follow it, with its destination.
Cluster ClusterFinder::chainFrom(Operation *op, kernel::Root root) {
  Cluster cluster{root, {op}, {}, {}};
  extend(cluster);
  cluster.sink = sinkOf(cluster.ops.back());
  return cluster;
}

/// Adds statistics of the same scores. They begin no kernel: they are a by-product of attention's
/// loop.
void ClusterFinder::addStatistics(Cluster &cluster, ScoresOpInterface scores) {
  for (Operation *user : scores.getKey().getUsers())
    if (auto other = dyn_cast<ScoresOpInterface>(user);
        other && cluster.root == kernel::Root::Attention && !rootOf(user) &&
        other.getQuery() == scores.getQuery() && other.getMask() == scores.getMask() &&
        other.getScaleAttr() == scores.getScaleAttr() && other.getRules() == scores.getRules())
      cluster.ops.push_back(user);
}

/// Adds the op that stores the scales of the codes.
void ClusterFinder::addScales(Cluster &cluster, CacheQuantizeOp op) {
  for (Operation *user : op.getScales().getUsers())
    if (hasEffect<MemoryEffects::Write>(user))
      cluster.ops.push_back(user);
}

/// The starts of the groups of an op's rows, or null.
static Value groupsOf(Operation *op) {
  auto known = dyn_cast<TransformerOpInterface>(op);
  const std::optional<RowGroups> groups = known ? known.rowGroups() : std::nullopt;
  return groups ? groups->starts : Value();
}

/// Returns the unclaimed linears after `op` that read the same rows, in order. Only the nearest are
/// considered: each layer of a decoder reads an encoder's rows, and comparing all pairs would take
/// quadratic time.
SmallVector<Operation *> ClusterFinder::nextProducts(Operation *op) {
  constexpr size_t most = 64;
  auto [readers, isNew] = products.try_emplace({op->getOperand(0), groupsOf(op)});
  std::vector<Operation *> &all = readers->second;
  const auto isBefore = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  if (isNew) {
    for (Operation *user : op->getOperand(0).getUsers())
      if (rootOf(user) == kernel::Root::Linear && user->getBlock() == op->getBlock() &&
          groupsOf(user) == groupsOf(op))
        all.push_back(user);
    llvm::sort(all, isBefore);
    all.erase(llvm::unique(all), all.end());
  }
  SmallVector<Operation *> next;
  for (auto at = llvm::upper_bound(all, op, isBefore); at != all.end() && next.size() < most; ++at)
    if (!claimed.contains(*at))
      next.push_back(*at);
  return next;
}

/// Merges further linears over the same rows into the launch, as parts.
void ClusterFinder::mergeParts(Cluster &first, Operation *op) {
  size_t parts = 1;
  for (Operation *other : nextProducts(op)) {
    Cluster chain = chainFrom(other, first.root);
    bool joins = // both end in one sum
        llvm::any_of(chain.ops, [&](Operation *o) { return llvm::is_contained(first.ops, o); });
    if (!joins && (!first.sink || !(chain.sink == first.sink))) {
      addMissed(first, op, other, MissedFusion::OtherReader);
      continue;
    }
    if (parts == maxParts) {
      addMissed(first, op, other, MissedFusion::TooManyParts);
      continue;
    }
    SmallVector<Operation *> merged(first.ops);
    llvm::copy_if(chain.ops, std::back_inserter(merged),
                  [&](Operation *o) { return !llvm::is_contained(first.ops, o); });
    inBlockOrder(merged);
    if (!readersFollow(merged)) {
      addMissed(first, op, other, MissedFusion::ConsumerBetween);
      continue;
    }
    first.ops = std::move(merged);
    if (!joins)
      first.missed.append(chain.missed);
    ++parts;
  }
}

/// Returns why the sole reader of a kernel's last value is not fused.
static MissedFusion missedFusionOf(Operation *last, Operation *reader) {
  auto rotary = dyn_cast<RotaryOp>(reader);
  if (rotary && isa<SplitHeadsOp>(last) && !rotary.getDocuments() && !rotatesTiles(rotary))
    return MissedFusion::RotatedSize;
  return isa<MergeHeadsOp>(reader)                              ? MissedFusion::UnevenHeads
         : isa<ScoresOpInterface>(reader)                       ? MissedFusion::WholeSequences
         : reader->hasTrait<heddle::transformer::ReducesRows>() ? MissedFusion::RowReduction
         : reader->hasTrait<heddle::transformer::Contracts>()   ? MissedFusion::SecondContraction
                                                                : MissedFusion::NoEpilogue;
}

/// A kernel stores the rounded value. After rounding, only stores to a state and merges of heads
/// may follow, because they only change the address of the store.
static bool mayFollowRounding(Operation *last, Operation *next) {
  return !isRounding(last) || isa<MergeHeadsOp>(next) || hasEffect<MemoryEffects::Write>(next);
}

/// Appends each sole reader that can be fused; records why the chain stops.
void ClusterFinder::extend(Cluster &cluster) {
  while (cluster.ops.back()->getNumResults() >= 1) {
    Operation *last = cluster.ops.back(), *reader = nullptr;
    std::optional<MissedFusion> reason = missedFusionOf(last->getResult(0), reader);
    auto next = reason ? TileableOpInterface() : dyn_cast<TileableOpInterface>(reader);
    if (next && !claimed.contains(next) && mayFollowRounding(last, next) &&
        next.canFollow(cluster.root, cluster.ops)) {
      cluster.ops.push_back(next);
      continue;
    }
    if (reason && addRounding(cluster))
      return;
    if (!reason)
      reason = ::missedFusionOf(last, reader);
    if (cluster.ops.size() > 1) // report the op whose result is rounded
      last = beforeRounding(last->getResult(0)).getDefiningOp();
    if (reader)
      addMissed(cluster, last, reader, *reason);
    return;
  }
}

/// Adds the rounding of a value that is also read unrounded; both forms are stored. The rounding
/// must directly follow the value, so that no reader is before it.
bool ClusterFinder::addRounding(Cluster &cluster) {
  Operation *last = cluster.ops.back();
  for (Operation *user : last->getResult(0).getUsers())
    if (isRounding(user) && !claimed.contains(user) && user->getPrevNode() == last) {
      cluster.ops.push_back(user);
      return true;
    }
  return false;
}

/// Returns why no single reader can follow `value`, or nullopt if one can. `reader` becomes the
/// first reader, or null if only the function returns the value.
std::optional<MissedFusion> ClusterFinder::missedFusionOf(Value value, Operation *&reader) {
  bool returned = false;
  auto position = [&](Operation *user) {
    return func.getBody().front().findAncestorOpInBlock(*user);
  };
  for (Operation *user : value.getUsers())
    if (isa<func::ReturnOp>(user))
      returned = true;
    else if (!reader || !position(reader)->isBeforeInBlock(position(user)))
      reader = user; // the first one
  if (returned || !reader)
    return MissedFusion::FunctionResult;
  if (stateOf(value))
    return MissedFusion::SessionState;
  if (!value.hasOneUse())
    return MissedFusion::SeveralUses;
  return std::nullopt;
}

void ClusterFinder::addMissed(Cluster &cluster, Operation *op, Operation *reader,
                              MissedFusion reason) {
  NamedAttrList entry;
  entry.append("op", builder.getStringAttr(op->getName().getStringRef()));
  entry.append("with", builder.getStringAttr(reader ? reader->getName().getStringRef()
                                                    : StringRef("several")));
  entry.append("reason", builder.getStringAttr(toString(reason)));
  cluster.missed.push_back(entry.getDictionary(builder.getContext()));
}

/// Whether all readers are after the last op, where the group will be.
bool ClusterFinder::readersFollow(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 8> inside(llvm::from_range, ops);
  return llvm::all_of(ops, [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return inside.contains(user) || ops.back()->isBeforeInBlock(user);
    });
  });
}

void ClusterFinder::claim(Cluster cluster) {
  inBlockOrder(cluster.ops);
  claimed.insert_range(cluster.ops);
  clusters.push_back(std::move(cluster));
}

FailureOr<SmallVector<Cluster>> heddle::transformer::findClusters(func::FuncOp func) {
  return ClusterFinder(func).run();
}
