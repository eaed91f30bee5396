//===- GroupKernels.cpp - Which ops share a kernel ------------------------===//
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
// it is besides.
//
// What cannot follow is written down with its reason. Then every cluster is
// moved to the place of its last op and wrapped into a kernel.group.
//
//===----------------------------------------------------------------------===//

#include "heddle/Analysis/FusionRefusal.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace heddle {
#define GEN_PASS_DEF_GROUPKERNELS
#include "heddle/Transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using heddle::kernel::GroupOp;

namespace {

/// A launch runs at most this many contractions: queries, keys and values of one attention.
constexpr size_t maxParts = 3;

/// Ops that become one group, in program order.
struct Cluster {
  StringRef root;
  SmallVector<Operation *> ops;
  SmallVector<Attribute> refusals;
  /// What the parts of a linear feed: an attention or a state.
  const void *sink = nullptr;
};

class Grouper {
public:
  explicit Grouper(func::FuncOp func) : func(func), builder(func.getContext()) {}
  LogicalResult run();

private:
  void hoistOperands();
  LogicalResult collect(Operation &op);
  LogicalResult collectRounding(arith::TruncFOp op);
  void addPanelRelayouts();
  Value relayout(Value key, Value starts, Location loc);
  Cluster linearChain(LinearOp op);
  void mergeParts(Cluster &first, LinearOp op);
  void extend(Cluster &cluster, function_ref<bool(Operation *)> accepts);
  bool addRounding(Cluster &cluster);
  std::optional<FusionRefusal> refusalOf(Value value, Operation *&reader);
  void refuse(Cluster &cluster, Operation *op, Operation *reader, FusionRefusal reason);
  bool readersFollow(ArrayRef<Operation *> ops);
  void claim(Cluster cluster);
  void build(Cluster &cluster);

  func::FuncOp func;
  OpBuilder builder;
  SmallVector<Cluster> clusters;
  llvm::SmallPtrSet<Operation *, 32> claimed;
};

} // namespace

/// Ops that stay outside groups: operands, and the session's bookkeeping.
static bool staysOutside(Operation *op) {
  return isa<WeightOp, arith::ConstantOp, CacheLengthOp, CacheClearOp, CacheReorderOp, StateGetOp,
             func::ReturnOp>(op);
}

/// Masks and score rules: cloned into the groups that use them.
static bool isRule(Operation *op) {
  return op->getNumResults() == 1 && isa<MaskType, BiasType>(op->getResult(0).getType());
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

LogicalResult Grouper::run() {
  hoistOperands();
  addPanelRelayouts();
  for (Operation &op : func.getBody().front())
    if (!claimed.contains(&op) && failed(collect(op)))
      return failure();
  for (Cluster &cluster : clusters)
    build(cluster);
  // A group stands where its last op stood; what reads one of its earlier results moves behind it.
  mlir::sortTopologically(&func.getBody().front());
  // Masks and rules were cloned into the groups that use them.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
    if (isRule(&op) && op.use_empty())
      op.erase();
  return success();
}

/// Weights, constants and lengths go to the top: groups may then move freely behind them.
void Grouper::hoistOperands() {
  Block &body = func.getBody().front();
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!isa<WeightOp, arith::ConstantOp, CacheLengthOp, StateGetOp>(op))
      continue;
    last ? op.moveAfter(last) : op.moveBefore(&body, body.begin());
    last = &op;
  }
}

/// True where the value is produced in the storage that attention's keys need.
static bool canBeStoredInPanels(Value key) {
  Operation *def = key.getDefiningOp();
  if (isa_and_nonnull<StateGetOp, CacheAppendOp>(def))
    return true;
  auto round = dyn_cast_or_null<arith::TruncFOp>(def);
  Value made = round ? round.getIn() : key;
  bool isStored = made.getDefiningOp<SplitHeadsOp>() || (round && isa<BlockArgument>(made));
  return isStored && llvm::all_of(key.getUses(), [](OpOperand &use) {
           return isa<AttentionOp, AttentionStatisticsOp, AttentionWeightsOp>(use.getOwner()) &&
                  use.getOperandNumber() == 1;
         });
}

/// Whether an op that reads scores has this mask.
static bool maskIn(Operation *op, Value mask) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<AttentionOp, AttentionStatisticsOp, AttentionWeightsOp>(
          [&](auto o) { return o.getMask() == mask; })
      .Default([](Operation *) { return false; });
}

/// Keys that come from elsewhere are copied: a group that yields its first argument is a relayout.
/// Packed documents need keys whose panels begin with each document: the group's second argument
/// says where.
/// Weights are those of all pairs, whatever the document: their keys lie one after another.
void Grouper::addPanelRelayouts() {
  DenseMap<std::pair<Value, Value>, Value> copies;
  func.walk([&](AttentionOp op) {
    Value key = op.getKey();
    MaskDocumentsOp documents = packedDocumentsOf(op.getMask());
    if (!documents && canBeStoredInPanels(key))
      return;
    builder.setInsertionPoint(op);
    auto copied = [&](Value starts) {
      Value &copy = copies[{key, starts}];
      return copy ? copy : copy = relayout(key, starts, op.getLoc());
    };
    auto replace = [&](Value copy, function_ref<bool(Operation *)> reads) {
      key.replaceUsesWithIf(copy, [&](OpOperand &use) {
        return maskIn(use.getOwner(), op.getMask()) && reads(use.getOwner()) &&
               use.getOperandNumber() == 1;
      });
    };
    bool weights = llvm::any_of(key.getUsers(), llvm::IsaPred<AttentionWeightsOp>);
    if (documents && weights)
      replace(copied(Value()), llvm::IsaPred<AttentionWeightsOp>);
    replace(copied(documents ? documents.getKeys() : Value()),
            llvm::IsaPred<AttentionOp, AttentionStatisticsOp, AttentionWeightsOp>);
  });
}

/// A copy of keys into panels, which begin anew with each document where `starts` is one.
Value Grouper::relayout(Value key, Value starts, Location loc) {
  SmallVector<Value> operands{key};
  if (starts)
    operands.push_back(starts);
  auto group =
      GroupOp::create(builder, loc, TypeRange(key.getType()), operands, "relayout", "pack_keys");
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locs(operands.size(), loc);
  Block *block = builder.createBlock(&group.getBody(), {}, ValueRange(operands).getTypes(), locs);
  kernel::YieldOp::create(builder, loc, block->getArgument(0));
  claimed.insert(group);
  return group.getResult(0);
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

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

LogicalResult Grouper::collect(Operation &op) {
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
      .Case<AttentionOp>([&](AttentionOp attention) {
        Cluster cluster{"attention", {&op}, {}, nullptr};
        extend(cluster, [](Operation *next) {
          auto merge = dyn_cast<MergeHeadsOp>(next);
          return isa<arith::TruncFOp>(next) || (merge && !needsWholeRows(merge));
        });
        for (Operation *user :
             attention.getKey().getUsers()) // the statistics are a by-product of the same loop
          if (auto stats = dyn_cast<AttentionStatisticsOp>(user);
              stats && sameScores(attention, stats))
            cluster.ops.push_back(stats);
        claim(std::move(cluster));
        return success();
      })
      .Case<AttentionWeightsOp>([&](auto) { return single("weights", nothing); })
      .Case<LayerNormOp>([&](auto) { return single("norm", rounds); })
      .Case<PoolOp>([&](auto) { return single("pool", rounds); })
      .Case<EmbeddingOp>([&](auto) {
        return single("embedding", [](Operation *next) {
          return isa<PositionSinusoidalOp, arith::TruncFOp>(next);
        });
      })
      .Case<PositionSinusoidalOp, arith::AddFOp>([&](auto) {
        return single("elementwise", [](Operation *next) {
          return isa<PositionSinusoidalOp, arith::AddFOp, arith::TruncFOp>(next);
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

/// Of an argument, or of what a kernel stores that cannot round: a kernel of its own.
LogicalResult Grouper::collectRounding(arith::TruncFOp op) {
  bool heads = cast<RankedTensorType>(op.getType()).getRank() == 4;
  Cluster cluster{heads ? "relayout" : "elementwise", {op}, {}, nullptr};
  extend(cluster, [&](Operation *next) { return heads && isa<CacheAppendOp, StateSetOp>(next); });
  claim(std::move(cluster));
  return success();
}

Cluster Grouper::linearChain(LinearOp op) {
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
void Grouper::mergeParts(Cluster &first, LinearOp op) {
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
void Grouper::extend(Cluster &cluster, function_ref<bool(Operation *)> accepts) {
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
      reason = isa<MergeHeadsOp>(reader)          ? FusionRefusal::UnevenHeads
               : isa<LayerNormOp, PoolOp>(reader) ? FusionRefusal::RowReduction
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
bool Grouper::addRounding(Cluster &cluster) {
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
std::optional<FusionRefusal> Grouper::refusalOf(Value value, Operation *&reader) {
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

void Grouper::refuse(Cluster &cluster, Operation *op, Operation *reader, FusionRefusal reason) {
  NamedAttrList entry;
  entry.append("op", builder.getStringAttr(op->getName().getStringRef()));
  entry.append("with", builder.getStringAttr(reader ? reader->getName().getStringRef()
                                                    : StringRef("several")));
  entry.append("reason", builder.getStringAttr(toString(reason)));
  cluster.refusals.push_back(entry.getDictionary(builder.getContext()));
}

/// A group stands where its last op stands: everything that reads it has to come later.
bool Grouper::readersFollow(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 8> inside(llvm::from_range, ops);
  return llvm::all_of(ops, [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return inside.contains(user) || ops.back()->isBeforeInBlock(user);
    });
  });
}

void Grouper::claim(Cluster cluster) {
  llvm::sort(cluster.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  claimed.insert_range(cluster.ops);
  clusters.push_back(std::move(cluster));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// A name that says what the kernel does: "linear_relu_add", "linear3_heads" for three parts that
/// store heads.
static std::string nameOf(const Cluster &cluster) {
  if (cluster.root != "linear")
    return cluster.root.str();
  llvm::SetVector<StringRef> words;
  int parts = 0;
  for (Operation *op : cluster.ops) {
    if (auto linear = dyn_cast<LinearOp>(op)) {
      ++parts;
      if (linear.getActivation() != Activation::None)
        words.insert(stringifyActivation(linear.getActivation()));
    }
    StringRef word = isa<arith::AddFOp>(op)     ? "add"
                     : isa<arith::TruncFOp>(op) ? ""
                     : isa<SplitHeadsOp>(op)    ? "heads"
                     : isa<CacheAppendOp>(op)   ? "append"
                                                : "";
    if (!word.empty())
      words.insert(word);
  }
  std::string name = parts == 1 ? "linear" : "linear" + std::to_string(parts);
  for (StringRef word : words)
    name += "_" + word.str();
  return name;
}

/// Masks and rules that `value` is made of, operands first.
static void collectRules(Value value, llvm::SetVector<Operation *> &rules) {
  Operation *op = value.getDefiningOp();
  if (!op || !isRule(op))
    return;
  for (Value operand : op->getOperands())
    collectRules(operand, rules);
  rules.insert(op);
}

/// What an op reads, the captures of a formula included.
static SmallVector<Value> readBy(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::SetVector<Value> captured;
  mlir::getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::append_range(values, captured);
  return values;
}

void Grouper::build(Cluster &cluster) {
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
  if (!cluster.refusals.empty())
    group->setAttr("refusals", builder.getArrayAttr(cluster.refusals));

  Block *block = builder.createBlock(&group.getBody());
  IRMapping mapping;
  for (Value operand : operands)
    mapping.map(operand, block->addArgument(operand.getType(), operand.getLoc()));
  for (Operation *op : all)
    builder.clone(*op, mapping);
  SmallVector<Value> yields(llvm::map_range(results, [&](Value v) { return mapping.lookup(v); }));
  kernel::YieldOp::create(builder, last->getLoc(), yields);
  for (auto [original, replacement] : llvm::zip(results, group.getResults()))
    Value(original).replaceUsesWithIf(
        replacement, [&](OpOperand &use) { return !all.contains(use.getOwner()); });
  for (Operation *op : llvm::reverse(cluster.ops))
    op->erase();
}

namespace {
struct GroupKernels : heddle::impl::GroupKernelsBase<GroupKernels> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration() && failed(Grouper(func).run()))
        return signalPassFailure();
  }
};
} // namespace
