//===- KeepRows.cpp - Keys and values in the type of caches ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys and values that sessions keep take the type of caches, before they are stored and,
// where a function keeps none of its own (`kept`), before they are attended to:
//
//   cache.append(s, rows)    ──▶  cache.append(s as bf16, truncf rows)
//   cache.append(s, rows)    ──▶  q, e = cache.quantize(rows)
//                                 cache.append(s as i8, q), cache.append(s.scale, e)
//   attention(x, k, v) kept  ──▶  attention(x, truncf k, truncf v)
//
// Attention reads any type, so that it has one meaning whether its rows come from a
// cache or not.

#include "ProductRewrites.h"

#include "heddle/Dialect/ElementFormats.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace heddle::transformer {

namespace {

/// Rows in the type of caches, and the scales of codes.
struct Kept {
  Value rows, scales;
};

class RowKeeper {
public:
  RowKeeper(ModuleOp module, DType type)
      : module(module), builder(module.getContext()), type(type),
        element(mlirTypeOf(type, module.getContext())) {}

  KeptValues run() {
    findStates();
    // Collected before they change: new ops stand in the walked blocks.
    SmallVector<Operation *> users;
    module.walk([&](Operation *op) {
      if (isa<StateGetOp, StateSetOp, CacheAppendOp, AttentionOp>(op))
        users.push_back(op);
    });
    for (Operation *user : users)
      change(user);
    for (StateOp state : states)
      state.setType(state.getTensorType().clone(element));
    return std::move(values);
  }

private:
  /// Whether a value is read only as keys or values.
  static bool feedsAttentionOnly(Value value) {
    return llvm::all_of(value.getUses(), [](OpOperand &use) {
      auto attention = dyn_cast<AttentionOp>(use.getOwner());
      return attention &&
             (&use == &attention.getKeyMutable() || &use == &attention.getValueMutable());
    });
  }

  /// The states that only attention reads.
  void findStates() {
    module.walk([&](StateOp op) {
      if (op.getTensorType().getElementType().isF32() && op.getTensorType().getRank() == 4)
        states.insert(op);
    });
    module.walk([&](Operation *op) {
      if (auto get = dyn_cast<StateGetOp>(op); get && !feedsAttentionOnly(get.getResult()))
        states.remove(get.lookupState());
      if (auto append = dyn_cast<CacheAppendOp>(op);
          append && !feedsAttentionOnly(append.getResult()))
        states.remove(append.lookupState());
    });
  }

  void change(Operation *op) {
    if (auto get = dyn_cast<StateGetOp>(op); get && states.contains(get.lookupState()))
      return changeGet(get);
    if (auto set = dyn_cast<StateSetOp>(op); set && states.contains(set.lookupState()))
      return changeSet(set);
    if (auto append = dyn_cast<CacheAppendOp>(op); append && states.contains(append.lookupState()))
      return changeAppend(append);
    if (auto attention = dyn_cast<AttentionOp>(op); attention && attention.getKept())
      for (bool isKey : {true, false})
        keepOperand(attention, isKey);
  }

  /// The value as caches keep it, made once: rounded behind its definition, or as codes in front of
  /// `reader`, since they need a kernel of their own.
  Kept kept(Value value, Operation *reader) {
    if (type == DType::F32)
      return {value, {}};
    Kept &made = known[value];
    if (made.rows)
      return made;
    if (!formatOf(type).isCode()) {
      builder.setInsertionPointAfterValue(value);
      return made = {roundedTo(builder, value.getLoc(), value, element), {}};
    }
    builder.setInsertionPoint(reader);
    auto quantize = CacheQuantizeOp::create(builder, value.getLoc(), value);
    return made = {quantize.getCodes(), quantize.getScales()};
  }

  /// The state of the scales of a state's rows, made once behind it.
  StateOp scalesOf(StateOp state) {
    StateOp &made = scaleStates[state];
    if (made)
      return made;
    builder.setInsertionPointAfter(state);
    RankedTensorType rows = state.getTensorType();
    auto shape = RankedTensorType::get(rows.getShape().drop_back(), builder.getF32Type());
    auto dims = builder.getArrayAttr(state.getDims().getValue().drop_back());
    return made = StateOp::create(
               builder, state.getLoc(), builder.getStringAttr(state.getSymName() + ".scale"), dims,
               state.getCapacityAttr(), state.getWindowAttr(), TypeAttr::get(shape));
  }

  FlatSymbolRefAttr nameOfScales(StateOp state) {
    return FlatSymbolRefAttr::get(scalesOf(state).getSymNameAttr());
  }

  void changeGet(StateGetOp get) {
    retype(get.getResult());
    if (!formatOf(type).isCode())
      return;
    StateOp scales = scalesOf(get.lookupState());
    builder.setInsertionPointAfter(get);
    read(get.getResult(), StateGetOp::create(builder, get.getLoc(), scales.getTensorType(),
                                             nameOfScales(get.lookupState())));
  }

  void changeSet(StateSetOp set) {
    Kept value = kept(set.getValue(), set);
    set.getValueMutable().set(value.rows);
    if (!value.scales)
      return;
    FlatSymbolRefAttr name = nameOfScales(set.lookupState());
    builder.setInsertionPointAfter(set);
    StateSetOp::create(builder, set.getLoc(), name, value.scales);
  }

  void changeAppend(CacheAppendOp append) {
    Kept rows = kept(append.getRows(), append);
    append.getRowsMutable().set(rows.rows);
    retype(append.getResult());
    if (!rows.scales)
      return;
    StateOp scales = scalesOf(append.lookupState());
    FlatSymbolRefAttr name = nameOfScales(append.lookupState());
    builder.setInsertionPointAfter(append);
    read(append.getResult(),
         CacheAppendOp::create(builder, append.getLoc(), scales.getTensorType(), name, rows.scales,
                               append.getAt(), append.getCount()));
  }

  void retype(Value content) {
    content.setType(cast<RankedTensorType>(content.getType()).clone(element));
    values.insert(content);
  }

  /// Gives the attentions that read `content` the scales of its codes.
  static void read(Value content, Value scales) {
    SmallVector<std::pair<AttentionOp, bool>> readers; // new operands move the uses
    for (OpOperand &use : content.getUses()) {
      auto attention = cast<AttentionOp>(use.getOwner());
      readers.push_back({attention, &use == &attention.getKeyMutable()});
    }
    for (auto [attention, asKey] : readers)
      giveScales(attention, asKey, scales);
  }

  static void giveScales(AttentionOp attention, bool ofKey, Value scales) {
    (ofKey ? attention.getKeyScalesMutable() : attention.getValueScalesMutable()).assign(scales);
  }

  void keepOperand(AttentionOp attention, bool isKey) {
    OpOperand &operand = isKey ? attention.getKeyMutable() : attention.getValueMutable();
    if (!getElementTypeOrSelf(operand.get().getType()).isF32() || stateOf(operand.get()))
      return;
    Kept value = kept(operand.get(), attention);
    operand.set(value.rows);
    values.insert(value.rows);
    if (value.scales)
      giveScales(attention, isKey, value.scales);
  }

  ModuleOp module;
  OpBuilder builder;
  DType type;
  Type element;
  llvm::SmallSetVector<StateOp, 16> states;
  llvm::DenseMap<Value, Kept> known;
  llvm::DenseMap<Operation *, StateOp> scaleStates;
  KeptValues values;
};

} // namespace

KeptValues keepRows(ModuleOp module, DType type) { return RowKeeper(module, type).run(); }

} // namespace heddle::transformer
