//===- SetPrecision.cpp - Operands of products in a narrower type ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The precision of a product is the type of its operands, from which every
// later stage and the reference read it:
//
//   linear(x, w)          ──▶  linear(truncf x, w as bf16)
//   attention(q, k, v)    ──▶  attention(truncf q, truncf k, truncf v)
//   cache.append(s, rows) ──▶  cache.append(s as bf16, truncf rows)
//   embedding(ids, w)     ──▶  embedding(ids, w as bf16)
//
// f16 is a storage format: only values that are kept and read repeatedly take
// it, that is weights, tables, keys and values. Formats whose linear layers have other
// operands than the rest (int8, f16-sum, int4) get them from
// QuantizeProducts.cpp.
//
// A value is rounded right behind the op that computes it: kernels then round
// once what they store, not in each column tile what it reads.

#include "ProductRewrites.h"

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace heddle::transformer {

#define GEN_PASS_DEF_SETPRECISION
#include "heddle/Dialect/Transformer/Transforms/Passes.h.inc"

namespace {

/// Narrows operands of products; `known` shares rounded values among readers.
class Rounder {
public:
  Rounder(ModuleOp module, const NumberFormat &format)
      : module(module), builder(module.getContext()),
        element(mlirTypeOf(format.weights, module.getContext())),
        roundsRows(format.rows == format.weights) {}

  void run() {
    narrowStates();
    module.walk([&](LinearOp op) { narrow(op.getInputMutable(), matricesOf(op)); });
    module.walk([&](HeadProductsOp op) { narrow(op.getInputMutable(), {&op.getWeightMutable()}); });
    module.walk([&](FfnOp op) { narrow(op.getInputMutable(), matricesOf(op)); });
    module.walk([&](AttentionOp op) {
      narrow(op.getQueryMutable(), {&op.getKeyMutable(), &op.getValueMutable()});
    });
    module.walk([&](EmbeddingOp op) {
      if (isF32Weight(op.getTable()))
        op.getTableMutable().assign(rounded(op.getTable()));
    });
  }

private:
  /// Narrows all operands of a product or none: `operand` if rows are rounded too, and the kept
  /// ones.
  void narrow(OpOperand &operand, ArrayRef<OpOperand *> kept) {
    SmallVector<OpOperand *> all(kept);
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

  /// The value in the narrow type, created once behind its definition.
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

  //===--------------------------------------------------------------------===//
  // States
  //===--------------------------------------------------------------------===//

  /// Whether a value is read only as keys or values.
  static bool feedsAttentionOnly(Value value) {
    return llvm::all_of(value.getUses(), [](OpOperand &use) {
      auto attention = dyn_cast<AttentionOp>(use.getOwner());
      return attention &&
             (&use == &attention.getKeyMutable() || &use == &attention.getValueMutable());
    });
  }

  /// Narrows the states that only attention reads, and everything that names them.
  void narrowStates() {
    llvm::SmallPtrSet<Operation *, 16> narrow;
    module.walk([&](StateOp op) {
      if (op.getTensorType().getElementType().isF32() && op.getTensorType().getRank() == 4)
        narrow.insert(op);
    });
    module.walk([&](Operation *op) {
      if (auto get = dyn_cast<StateGetOp>(op); get && !feedsAttentionOnly(get.getResult()))
        narrow.erase(get.lookupState());
      if (auto append = dyn_cast<CacheAppendOp>(op);
          append && !feedsAttentionOnly(append.getResult()))
        narrow.erase(append.lookupState());
    });
    // Collected before they change: rounding inserts ops into the walked blocks.
    SmallVector<Operation *> users;
    module.walk([&](Operation *op) {
      if (isa<StateGetOp, StateSetOp, CacheAppendOp>(op))
        users.push_back(op);
    });
    for (Operation *op : users)
      narrowUser(op, narrow);
    for (Operation *op : narrow) {
      auto state = cast<StateOp>(op);
      state.setType(state.getTensorType().clone(element));
    }
  }

  void narrowUser(Operation *op, const llvm::SmallPtrSetImpl<Operation *> &states) {
    if (auto get = dyn_cast<StateGetOp>(op); get && states.contains(get.lookupState()))
      get.getResult().setType(cast<RankedTensorType>(narrowed(get.getResult())));
    if (auto set = dyn_cast<StateSetOp>(op); set && states.contains(set.lookupState()))
      set.getValueMutable().set(rounded(set.getValue()));
    if (auto append = dyn_cast<CacheAppendOp>(op);
        append && states.contains(append.lookupState())) {
      append.getRowsMutable().set(rounded(append.getRows()));
      append.getResult().setType(cast<RankedTensorType>(narrowed(append.getResult())));
    }
  }

  ModuleOp module;
  OpBuilder builder;
  Type element;
  bool roundsRows; ///< whether first operands of products are rounded too
  llvm::DenseMap<Value, Value> known;
};

struct SetPrecision : impl::SetPrecisionBase<SetPrecision> {
  using SetPrecisionBase::SetPrecisionBase;

  void runOnOperation() override {
    const NumberFormat *format = findFormat(dtype.getValue());
    if (!format) {
      getOperation().emitError() << "set-precision: expected " << formatNames() << ", found "
                                 << dtype;
      return signalPassFailure();
    }
    if (format->hasOwnProducts())
      quantizeProducts(getOperation(), *format);
    if (format->others != DType::F32)
      Rounder(getOperation(), formatOfWeights(format->others)).run();
  }
};
} // namespace

} // namespace heddle::transformer
