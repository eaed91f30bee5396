//===- Tilers.cpp - Which op is tiled how, and behind what ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The models of TileableOpInterface: for each op the writer of its kernel's body,
// the kernels on whose tiles it can follow,
//
//   linear ── activation ── + residual ── split_heads ── cache.append | state.set
//
//   attention (with its mask ops) ── merge_heads
//
//   embedding ── position
//
// and what is not built. The last value of each is rounded (arith.truncf) where
// it is stored.

#include "Tiling.h"

#include "heddle/Transforms/TileableOpInterface.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::Root;

#include "heddle/Transforms/TileableOpInterface.cpp.inc"

//===- What can follow ---------------------------------------------------===//

template <typename Op>
static bool has(ArrayRef<Operation *> ops) {
  return llvm::any_of(ops, llvm::IsaPred<Op>);
}

/// Most ops need a kernel of their own.
static bool follows(Operation *, Root, ArrayRef<Operation *>) { return false; }

static bool follows(arith::AddFOp, Root root, ArrayRef<Operation *> before) {
  return root == Root::Elementwise ||
         (root == Root::Linear && !has<SplitHeadsOp>(before) && !has<arith::TruncFOp>(before));
}

/// Kernels that cannot round store what they compute as it is.
static bool follows(arith::TruncFOp, Root root, ArrayRef<Operation *>) {
  return !llvm::is_contained(
      {Root::Weights, Root::Quantize, Root::Loss, Root::LossMean, Root::Shift}, root);
}

static bool followsRows(Root root) { return root == Root::Embedding || root == Root::Elementwise; }
static bool follows(PositionSinusoidalOp, Root root, ArrayRef<Operation *>) {
  return followsRows(root);
}
static bool follows(PositionLearnedOp, Root root, ArrayRef<Operation *>) {
  return followsRows(root);
}

static bool follows(SplitHeadsOp, Root root, ArrayRef<Operation *> before) {
  return root == Root::Linear && !has<arith::TruncFOp>(before);
}

/// Attention leaves heads that are no multiple of 16 wide padded one by one. The weight of a
/// projection is packed alike and a result is copied head by head; other readers want whole rows.
static bool follows(MergeHeadsOp merge, Root root, ArrayRef<Operation *>) {
  auto heads = merge.getInput().getType();
  if (root != Root::Attention)
    return false;
  if (heads.getDimSize(1) == 1 || heads.getDimSize(3) % 16 == 0)
    return true;
  auto takesHeads = [](OpOperand &use) {
    return isa<func::ReturnOp>(use.getOwner()) ||
           (isa<LinearOp>(use.getOwner()) && use.getOperandNumber() == 0);
  };
  return llvm::all_of(merge->getUses(), [&](OpOperand &use) {
    auto round = dyn_cast<arith::TruncFOp>(use.getOwner());
    return round ? llvm::all_of(round->getUses(), takesHeads) : takesHeads(use);
  });
}

/// Heads are stored where they are computed or copied.
static bool followsHeads(Value stored, Root root, ArrayRef<Operation *> before) {
  return (root == Root::Linear && has<SplitHeadsOp>(before)) ||
         (root == Root::Relayout && cast<ShapedType>(stored.getType()).getRank() == 4);
}
static bool follows(CacheAppendOp append, Root root, ArrayRef<Operation *> before) {
  return followsHeads(append.getRows(), root, before);
}
static bool follows(StateSetOp set, Root root, ArrayRef<Operation *> before) {
  return followsHeads(set.getValue(), root, before);
}

//===- What is not built -------------------------------------------------===//

static LogicalResult check(Operation *) { return success(); }

static LogicalResult check(WeightOp op) {
  int64_t rank = cast<RankedTensorType>(op.getType()).getRank();
  if (rank == 1 || rank == 2)
    return success();
  return op.emitOpError("expected a vector or a matrix, found rank ")
         << rank << ", which is not built yet";
}

static LogicalResult check(arith::AddFOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (op->getParentOfType<MaskWhereOp>() || op->getParentOfType<BiasWhereOp>() ||
      (type && type.getElementType().isF32() && type.getRank() >= 2))
    return success();
  return op.emitOpError("expected tensors of f32 and rank 2 or more, found ")
         << op.getType() << ", which is not built yet";
}

static LogicalResult checkFeatures(Operation *op, Value value, StringRef what, int64_t most) {
  int64_t size = cast<RankedTensorType>(value.getType()).getShape().back();
  if (size <= most)
    return success();
  return op->emitOpError("expected ") << what << " of at most " << most << " features, found "
                                      << size << "; wider ones are not built yet";
}

static LogicalResult check(LayerNormOp op) {
  return checkFeatures(op, op.getInput(), "rows", cpuTiles.mostValues);
}
static LogicalResult check(RmsNormOp op) {
  return checkFeatures(op, op.getInput(), "rows", cpuTiles.mostValues);
}

/// A state that any attention reads as keys is stored in panels, which nothing else can read.
static LogicalResult check(AttentionOp op) {
  if (failed(checkFeatures(op, op.getValue(), "heads of values",
                           cpuTiles.mostValues / cpuTiles.attentionRows.back())))
    return failure();
  StringAttr state = stateOf(op.getKey());
  if (!state)
    return success();
  WalkResult result = op->getParentOfType<ModuleOp>().walk([&](Operation *reader) {
    for (OpOperand &use : reader->getOpOperands()) {
      if (readAsKeys(use) || stateOf(use.get()) != state)
        continue;
      reader->emitOpError("operand ")
          << use.getOperandNumber() << ": expected another value than the content of @"
          << state.getValue()
          << ", found the keys of an attention; reading them otherwise is not "
             "built yet, keep a second state";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Dimensions of `function` that have names.
static llvm::StringSet<> namedDims(func::FuncOp function) {
  llvm::StringSet<> names;
  auto add = [&](ArrayAttr dims) {
    for (Attribute dim : dims ? dims : ArrayAttr::get(function.getContext(), {}))
      if (auto name = dyn_cast<StringAttr>(dim))
        names.insert(name.getValue());
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    add(function.getArgAttrOfType<ArrayAttr>(i, TransformerDialect::dimsAttr));
  function.walk([&](StateGetOp get) { add(get.lookupState().getDims()); });
  return names;
}

/// A state is as large as the inputs say: the names of its dimensions must be theirs.
static LogicalResult check(StateSetOp op) {
  llvm::StringSet<> names = namedDims(op->getParentOfType<func::FuncOp>());
  for (auto [i, dim] : llvm::enumerate(op.lookupState().getDims()))
    if (auto name = dyn_cast<StringAttr>(dim); name && !names.contains(name.getValue()))
      return op.emitOpError("dimension ")
             << i << " of " << op.getStateAttr()
             << ": expected an argument of the function with a dimension " << name
             << " in its transformer.dims, found none";
  return success();
}

static LogicalResult check(CacheReorderOp op) {
  auto argument = dyn_cast<BlockArgument>(op.getParents());
  auto function = op->getParentOfType<func::FuncOp>();
  if (argument && function.getArgAttr(argument.getArgNumber(), TransformerDialect::nameAttr))
    return success();
  return op.emitOpError("expected parents to be an argument with a transformer.name, found ")
         << (argument ? "one without" : "another value");
}

static LogicalResult checkOffset(Operation *op, Value offset) {
  if (!offset || offset.getDefiningOp<CacheLengthOp>())
    return success();
  return op->emitOpError("offset: expected a transformer.cache.length, found another number, which "
                         "is not built yet");
}
static LogicalResult check(PositionSinusoidalOp op) { return checkOffset(op, op.getOffset()); }
static LogicalResult check(PositionLearnedOp op) { return checkOffset(op, op.getOffset()); }

//===- Models ------------------------------------------------------------===//

namespace {
/// An op that begins kernels around `root`, whose bodies `write` writes.
template <typename Op, Root root, LogicalResult (*write)(KernelFrame &)>
struct Tiler : TileableOpInterface::ExternalModel<Tiler<Op, root, write>, Op> {
  std::optional<Root> getRoot(Operation *) const { return root; }
  bool canFollow(Operation *op, Root other, ArrayRef<Operation *> before) const {
    return follows(cast<Op>(op), other, before);
  }
  LogicalResult checkSupported(Operation *op) const { return check(cast<Op>(op)); }
  LogicalResult tile(Operation *, KernelFrame &frame) const { return write(frame); }
};

/// Heads go to where they are stored, all else is an elementwise kernel.
struct Rounding : TileableOpInterface::ExternalModel<Rounding, arith::TruncFOp> {
  std::optional<Root> getRoot(Operation *op) const {
    return cast<ShapedType>(op->getResult(0).getType()).getRank() == 4 ? Root::Relayout
                                                                       : Root::Elementwise;
  }
  bool canFollow(Operation *op, Root root, ArrayRef<Operation *> before) const {
    return follows(cast<arith::TruncFOp>(op), root, before);
  }
  LogicalResult checkSupported(Operation *) const { return success(); }
  LogicalResult tile(Operation *op, KernelFrame &frame) const {
    return *getRoot(op) == Root::Relayout ? tileRelayout(frame) : tileElementwise(frame);
  }
};

/// An op between kernels.
template <typename Op>
struct Outside : TileableOpInterface::ExternalModel<Outside<Op>, Op> {
  std::optional<Root> getRoot(Operation *) const { return std::nullopt; }
  bool canFollow(Operation *, Root, ArrayRef<Operation *>) const { return false; }
  LogicalResult checkSupported(Operation *op) const { return check(cast<Op>(op)); }
  LogicalResult tile(Operation *, KernelFrame &frame) const {
    return frame.def.emitOpError("expected an op that begins a kernel");
  }
};

template <typename Op, Root root, LogicalResult (*write)(KernelFrame &)>
void attach(MLIRContext *context) {
  Op::template attachInterface<Tiler<Op, root, write>>(*context);
}

template <typename... Ops>
void attachOutside(MLIRContext *context) {
  (Ops::template attachInterface<Outside<Ops>>(*context), ...);
}
} // namespace

void heddle::registerTilers(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *c, TransformerDialect *) {
    attach<LinearOp, Root::Linear, tileLinear>(c);
    attach<AttentionOp, Root::Attention, tileAttention>(c);
    attach<AttentionWeightsOp, Root::Weights, tileAttentionWeights>(c);
    attach<LayerNormOp, Root::Norm, tileNorm>(c);
    attach<RmsNormOp, Root::Norm, tileNorm>(c);
    attach<PatchesOp, Root::Patches, tilePatches>(c);
    attach<PoolOp, Root::Pool, tilePool>(c);
    attach<QuantizeOp, Root::Quantize, tileQuantize>(c);
    attach<SoftmaxOp, Root::Softmax, tileSoftmax>(c);
    attach<CrossEntropyRowsOp, Root::Loss, tileLoss>(c);
    attach<CrossEntropyMeanOp, Root::LossMean, tileLossMean>(c);
    attach<ShiftRightOp, Root::Shift, tileShift>(c);
    attach<EmbeddingOp, Root::Embedding, tileElementwise>(c);
    attach<PositionSinusoidalOp, Root::Elementwise, tileElementwise>(c);
    attach<PositionLearnedOp, Root::Elementwise, tileElementwise>(c);
    attach<ConcatOp, Root::Elementwise, tileElementwise>(c);
    attach<SplitHeadsOp, Root::Relayout, tileRelayout>(c);
    attach<MergeHeadsOp, Root::Relayout, tileRelayout>(c);
    attach<CacheAppendOp, Root::Relayout, tileRelayout>(c);
    attach<StateSetOp, Root::Relayout, tileRelayout>(c);
    attachOutside<WeightOp, CacheLengthOp, CacheClearOp, CacheReorderOp, StateGetOp>(c);
  });
  registry.addExtension(+[](MLIRContext *c, arith::ArithDialect *) {
    attach<arith::AddFOp, Root::Elementwise, tileElementwise>(c);
    arith::TruncFOp::attachInterface<Rounding>(*c);
    attachOutside<arith::ConstantOp>(c);
  });
}

std::optional<Root> heddle::rootOf(Operation *op) {
  auto tileable = dyn_cast<TileableOpInterface>(op);
  return tileable ? tileable.getRoot() : std::nullopt;
}

bool heddle::staysBetweenKernels(Operation *op) {
  auto tileable = dyn_cast<TileableOpInterface>(op);
  return tileable && !tileable.getRoot();
}
