//===- Tilers.cpp - Models of TileableOpInterface -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models of TileableOpInterface. They give each op the function that writes its kernel's body, the
// kernels that it can follow, and the cases that are not supported:
//
//   linear ── activation ── + residual ── split_heads ── cache.append | state.set
//
//   attention (with its mask ops) ── merge_heads
//
//   embedding ── position
//
// The last value of a chain is rounded (arith.truncf) when it is stored. Models of ops that are
// computed tile by tile are in the files that write their kernels.

#include "Tilers.h"

#include "heddle/Dialect/Transformer/IR/MergedHeads.h"
#include "heddle/Planning/Limits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::Root;

#include "heddle/Transforms/TileableOpInterface.cpp.inc"

LogicalResult heddle::checkFeatures(Operation *op, Value value, StringRef what, int64_t most) {
  int64_t size = cast<RankedTensorType>(value.getType()).getShape().back();
  if (size <= most)
    return success();
  return op->emitOpError("expected ") << what << " of at most " << most << " features, found "
                                      << size << "; wider ones are not supported yet";
}

namespace {

//===- Ops with separate kernels ------------------------------------------===//

template <typename Op>
struct NormModel : Tiler<NormModel<Op>, Op, Root::Norm, tileNorm> {
  LogicalResult checkSupported(Operation *op) const {
    return checkFeatures(op, op->getOperand(0), "rows", mostRowFeatures);
  }
};

/// Model of a gradient of attention. A tile holds sums of both keys and values.
template <typename Model, typename Op, Root root, LogicalResult (*write)(KernelBuilder &)>
struct GradientModel : Tiler<Model, Op, root, write> {
  LogicalResult checkSupported(Operation *operation) const {
    auto op = cast<Op>(operation);
    if (failed(checkFeatures(op, op.getKey(), "heads of keys", mostValueFeatures / 2)))
      return failure();
    return checkFeatures(op, op.getValue(), "heads of values", mostValueFeatures / 2);
  }
};

struct QueryGradientModel : GradientModel<QueryGradientModel, AttentionQueryGradientOp,
                                          Root::QueryGradient, tileQueryGradient> {};
struct KeyGradientModel
    : GradientModel<KeyGradientModel, AttentionKeyGradientOp, Root::KeyGradient, tileKeyGradient> {
};

//===- Ops on heads -----------------------------------------------------===//

struct MergeHeadsModel : Tiler<MergeHeadsModel, MergeHeadsOp, Root::Relayout, tileRelayout> {
  /// If attention pads heads, the weight of a projection is packed with the same padding, and a
  /// result is copied head by head; other readers need whole rows.
  bool canFollow(Operation *merge, Root root, ArrayRef<Operation *>) const {
    if (root != Root::Attention)
      return false;
    if (!transformer::padsHeads(cast<MergeHeadsOp>(merge)))
      return true;
    if (hasUnpaddedHeads(merge))
      return false;
    auto takesHeads = [](OpOperand &use) {
      return isa<func::ReturnOp>(use.getOwner()) ||
             (rootOf(use.getOwner()) == Root::Linear && use.getOperandNumber() == 0);
    };
    return llvm::all_of(merge->getUses(), [&](OpOperand &use) {
      Operation *reader = use.getOwner();
      return isRounding(reader) ? llvm::all_of(reader->getUses(), takesHeads) : takesHeads(use);
    });
  }
};

/// A store of heads into a state, fused with their computation or as a copy.
template <typename Model, typename Op>
struct StoreModel : Tiler<Model, Op, Root::Relayout, tileRelayout> {
  bool canFollow(Operation *op, Root root, ArrayRef<Operation *> before) const {
    return (root == Root::Linear && has<SplitHeadsOp>(before)) ||
           (root == Root::Relayout && cast<ShapedType>(op->getOperand(0).getType()).getRank() == 4);
  }
};

struct AppendModel : StoreModel<AppendModel, CacheAppendOp> {
  StringRef getNameWord(Operation *) const { return "append"; }
};

struct StateSetModel : StoreModel<StateSetModel, StateSetOp> {};

/// Rounding of heads is a relayout, other roundings are elementwise kernels.
struct RoundingModel : TileableOpInterface::ExternalModel<RoundingModel, arith::TruncFOp> {
  std::optional<Root> getRoot(Operation *op) const {
    return cast<ShapedType>(op->getResult(0).getType()).getRank() == 4 ? Root::Relayout
                                                                       : Root::Elementwise;
  }
  /// Kernels with these roots store only unrounded values.
  bool canFollow(Operation *, Root root, ArrayRef<Operation *>) const {
    return !llvm::is_contained({Root::Weights, Root::Quantize, Root::Loss, Root::LossMean,
                                Root::LossSum, Root::Shift, Root::RowNumbers},
                               root);
  }
  LogicalResult tile(Operation *op, KernelBuilder &frame) const {
    return *getRoot(op) == Root::Relayout ? tileRelayout(frame) : tileElementwise(frame);
  }
};

//===- Ops between kernels ----------------------------------------------===//

template <typename Model, typename Op>
struct OutsideModel : TileableOpInterface::ExternalModel<Model, Op> {
  std::optional<Root> getRoot(Operation *) const { return std::nullopt; }
  LogicalResult tile(Operation *, KernelBuilder &frame) const {
    return frame.def.emitOpError("expected an op that begins a kernel");
  }
};

template <typename Op>
struct Outside : OutsideModel<Outside<Op>, Op> {};

struct WeightModel : OutsideModel<WeightModel, WeightOp> {
  LogicalResult checkSupported(Operation *op) const {
    int64_t rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
    if (rank == 1 || rank == 2)
      return success();
    return op->emitOpError("expected a vector or a matrix, found rank ")
           << rank << ", which is not supported yet";
  }
};

struct ReorderModel : OutsideModel<ReorderModel, CacheReorderOp> {
  LogicalResult checkSupported(Operation *op) const {
    auto argument = dyn_cast<BlockArgument>(op->getOperand(0));
    auto function = op->getParentOfType<func::FuncOp>();
    if (argument && function.getArgAttr(argument.getArgNumber(), TransformerDialect::nameAttr))
      return success();
    return op->emitOpError("expected parents to be an argument with a transformer.name, found ")
           << (argument ? "one without" : "another value");
  }
};

struct ClearModel : OutsideModel<ClearModel, CacheClearOp> {
  LogicalResult checkSupported(Operation *operation) const {
    auto op = cast<CacheClearOp>(operation);
    if (!op.getRows())
      return success();
    auto argument = dyn_cast<BlockArgument>(op.getRows());
    auto function = op->getParentOfType<func::FuncOp>();
    auto fallback = argument ? defaultFromAttr(function.getArgAttr(argument.getArgNumber(),
                                                                   TransformerDialect::defaultAttr))
                             : std::nullopt;
    if (!fallback || fallback->kind != DefaultInput::Kind::NoRowsOf)
      return op.emitOpError("rows: expected an argument with the default no_rows_of, found ")
             << (argument ? "one without" : "another value");
    auto module = function->getParentOfType<ModuleOp>();
    const llvm::DenseMap<StringAttr, StateOp> states = statesOf(module);
    WalkResult shared = module.walk([&](CacheAppendOp append) {
      StateOp state = states.lookup(append.getStateAttr().getAttr());
      bool counts = state.getLengthName() == op.getDim() && !append.getAt();
      return counts ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (shared.wasInterrupted())
      return op.emitOpError("rows: expected caches whose sequences have rows of their own number, "
                            "found a transformer.cache.append to the length ")
             << op.getDimAttr() << " without at(...)";
    return success();
  }
};

} // namespace

void heddle::registerTilers(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *c, TransformerDialect *) {
    attachLinearTilers(c);
    attachRowTilers(c);
    attachActivationTilers(c);
    attachMapTilers(c);
    attachDropoutTilers(c);
    attachExpertTilers(c);
    attachWeightGradientTilers(c);
    attachUpdateTilers(c);
    attachAttentionTilers(c);
    AttentionQueryGradientOp::attachInterface<QueryGradientModel>(*c);
    AttentionKeyGradientOp::attachInterface<KeyGradientModel>(*c);
    LayerNormOp::attachInterface<NormModel<LayerNormOp>>(*c);
    RmsNormOp::attachInterface<NormModel<RmsNormOp>>(*c);
    NormalizeOp::attachInterface<NormModel<NormalizeOp>>(*c);
    attach<AttentionWeightsOp, Root::Weights, tileAttentionWeights>(c);
    attach<HeadProductsOp, Root::HeadProducts, tileHeadProducts>(c);
    attach<PatchesOp, Root::Patches, tilePatches>(c);
    attach<UnfoldOp, Root::Patches, tileUnfold>(c);
    attach<PoolOp, Root::Pool, tilePool>(c);
    attach<NormGradientOp, Root::NormGradient, tileNormGradient>(c);
    attach<PoolGradientOp, Root::PoolGradient, tilePoolGradient>(c);
    attach<QuantizeOp, Root::Quantize, tileQuantize>(c);
    attach<CacheQuantizeOp, Root::Relayout, tileCacheQuantize>(c);
    attach<SoftmaxOp, Root::Softmax, tileSoftmax>(c);
    attach<CrossEntropyRowsOp, Root::Loss, tileLoss>(c);
    attach<CrossEntropyMeanOp, Root::LossMean, tileLossMean>(c);
    attach<CrossEntropyGradientOp, Root::LossGradient, tileLossGradient>(c);
    attach<CrossEntropySumOp, Root::LossSum, tileLossSum>(c);
    attach<ShiftRightOp, Root::Shift, tileShift>(c);
    MergeHeadsOp::attachInterface<MergeHeadsModel>(*c);
    CacheAppendOp::attachInterface<AppendModel>(*c);
    StateSetOp::attachInterface<StateSetModel>(*c);
    WeightOp::attachInterface<WeightModel>(*c);
    CacheReorderOp::attachInterface<ReorderModel>(*c);
    CacheLengthOp::attachInterface<Outside<CacheLengthOp>>(*c);
    CacheClearOp::attachInterface<ClearModel>(*c);
    StateGetOp::attachInterface<Outside<StateGetOp>>(*c);
  });
  registry.addExtension(+[](MLIRContext *c, arith::ArithDialect *) {
    attachSumTilers(c);
    arith::TruncFOp::attachInterface<RoundingModel>(*c);
    arith::ConstantOp::attachInterface<Outside<arith::ConstantOp>>(*c);
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
