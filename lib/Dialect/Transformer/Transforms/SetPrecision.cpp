//===- SetPrecision.cpp - Operands of products in a narrower type ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Narrows the operands of products. The precision of a product is the type of
// its operands, which every later stage and the reference read:
//
//   linear(x, w)          ──▶  linear(truncf x, w as bf16)
//   attention(q, k, v)    ──▶  attention(truncf q, truncf k, truncf v)
//   embedding(ids, w)     ──▶  embedding(ids, w as bf16)
//
// f16 is a storage format: only values that are kept and read repeatedly become
// f16, namely weights, tables, keys and values. Formats whose linear layers
// have different operands (int8, f16-sum, int4) are handled in
// QuantizeProducts.cpp, keys and values of caches in KeepRows.cpp.
//
// Rounding is placed directly after the op that computes a value. Kernels then
// round once when they store, not in every column tile that reads.

#include "ProductRewrites.h"

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"

#include "heddle/Dialect/Transformer/IR/WithoutMatrices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace heddle::transformer {

#define GEN_PASS_DEF_SETPRECISION
#include "heddle/Dialect/Transformer/Transforms/Passes.h.inc"

namespace {

/// Narrows operands of products. `known` shares rounded values between readers.
class Rounder {
public:
  Rounder(ModuleOp module, const NumberFormat &format, const KeptValues &kept)
      : module(module), builder(module.getContext()), kept(kept),
        element(mlirTypeOf(format.weights, module.getContext())),
        roundsRows(format.rows == format.weights) {}

  void run() {
    module.walk([&](LinearOp op) {
      if (!scoresExperts(op))
        narrow(op.getInputMutable(), matricesOf(op));
    });
    module.walk([&](HeadProductsOp op) { narrow(op.getInputMutable(), {&op.getWeightMutable()}); });
    module.walk([&](FfnOp op) { narrow(op.getInputMutable(), matricesOf(op)); });
    module.walk([&](AttentionOp op) {
      SmallVector<OpOperand *> anew; // without values whose type the cache determines
      for (OpOperand *operand : {&op.getKeyMutable(), &op.getValueMutable()})
        if (!kept.contains(operand->get()))
          anew.push_back(operand);
      narrow(op.getQueryMutable(), anew);
    });
    module.walk([&](EmbeddingOp op) {
      if (isF32Weight(op.getTable()))
        op.getTableMutable().assign(rounded(op.getTable()));
    });
  }

private:
  /// Narrows all operands of a product or none: `others`, and also `operand` if the format rounds
  /// rows.
  void narrow(OpOperand &operand, ArrayRef<OpOperand *> others) {
    SmallVector<OpOperand *> all(others);
    if (!roundsRows && !isF32(operand.get()))
      return;
    if (roundsRows)
      all.insert(all.begin(), &operand);
    if (llvm::all_of(all, [&](OpOperand *o) { return isF32(o->get()) || isNarrow(o->get()); }))
      for (OpOperand *narrowed : all)
        narrowed->set(rounded(narrowed->get()));
  }

  bool isNarrow(Value value) const { return getElementTypeOrSelf(value.getType()) == element; }
  Type narrowed(Value value) const {
    return cast<RankedTensorType>(value.getType()).clone(element);
  }

  /// The value in the narrow type, created once after its definition.
  Value rounded(Value value) {
    if (isNarrow(value))
      return value;
    Value &made = known[value];
    if (made)
      return made;
    builder.setInsertionPointAfterValue(value);
    if (auto weight = value.getDefiningOp<WeightOp>())
      made = WeightOp::create(builder, weight.getLoc(), narrowed(value), weight.getName(),
                              weight.getStoredAttr());
    else
      made = roundedTo(builder, value.getLoc(), value, element);
    return made;
  }

  ModuleOp module;
  OpBuilder builder;
  const KeptValues &kept;
  Type element;
  bool roundsRows; ///< whether the first operands of products are rounded too
  llvm::DenseMap<Value, Value> known;
};

struct SetPrecision : impl::SetPrecisionBase<SetPrecision> {
  using SetPrecisionBase::SetPrecisionBase;

  /// Marks attentions that must not use matrix units. With `widens`: f32 attentions whose keys are
  /// f16. With `isNarrow`: all attentions, if any of them returns weights or statistics.
  void keepFromMatrices(bool widens, bool isNarrow) {
    bool returnsWeights = false;
    getOperation().walk([&](AttentionOp op) { returnsWeights |= op.getWeights() || op.getLse(); });
    getOperation().walk([&](AttentionOp op) {
      if ((isNarrow && returnsWeights) ||
          (widens && op.getKey().getType().getElementType().isF16()))
        op->setAttr(withoutMatrices, UnitAttr::get(op.getContext()));
    });
  }

  void runOnOperation() override {
    const NumberFormat *format = findFormat(dtype.getValue());
    if (!format) {
      getOperation().emitError() << "set-precision: expected " << formatNames() << ", found "
                                 << dtype;
      return signalPassFailure();
    }
    std::optional<DType> cache =
        cacheDtype.empty() ? format->others : findKeptType(cacheDtype.getValue());
    if (!cache) {
      getOperation().emitError() << "set-precision: cache-dtype: expected " << keptTypeNames()
                                 << ", found " << cacheDtype;
      return signalPassFailure();
    }
    getOperation().walk([](ExpertsOp op) { op.decompose(); });
    if (format->hasOwnProducts())
      quantizeProducts(getOperation(), *format);
    FailureOr<KeptValues> kept = keepRows(getOperation(), *cache, !cacheDtype.empty());
    if (failed(kept))
      return signalPassFailure(); // keepRows emitted the error
    keepFromMatrices(*cache == DType::F16 && format->others == DType::F32,
                     format->others != DType::F32);
    if (format->others != DType::F32)
      Rounder(getOperation(), formatOfWeights(format->others), *kept).run();
  }
};
} // namespace

} // namespace heddle::transformer
