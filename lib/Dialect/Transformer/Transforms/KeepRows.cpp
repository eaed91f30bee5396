//===- KeepRows.cpp - Keys and values in the type of caches ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts keys and values that sessions keep to the element type of caches.
// Rows are converted before they are stored. Functions without a cache of their
// own (`kept`) convert them before attention reads:
//
//   cache.append(s, rows)    ──▶  cache.append(s as bf16, truncf rows)
//   cache.append(s, rows)    ──▶  q, e = cache.quantize(rows)
//                                 cache.append(s as i8, q), cache.append(s.scale, e)
//   attention(x, k, v) kept  ──▶  attention(x, truncf k, truncf v)
//
// Attention accepts any element type, so its meaning does not depend on whether
// its rows come from a cache.

#include "ProductRewrites.h"

#include "heddle/Dialect/ElementFormats.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace heddle::transformer {

namespace {

/// Rows in the element type of caches, and their scales if the elements are codes.
struct Kept {
  Value rows, scales;
};

class RowKeeper {
public:
  RowKeeper(ModuleOp module, DType type)
      : module(module), builder(module.getContext()), type(type),
        element(mlirTypeOf(type, module.getContext())), all(statesOf(module)) {}

  FailureOr<KeptValues> run(bool isAsked) {
    if (failed(findStates(isAsked)))
      return failure();
    // Collect the users first: the changes insert ops into the blocks that are walked.
    SmallVector<Operation *> users;
    module.walk([&](Operation *op) {
      if (isa<StateGetOp, StateSetOp, CacheAppendOp, AttentionOp>(op))
        users.push_back(op);
    });
    for (Operation *user : users)
      change(user);
    for (StateOp state : states)
      state.setType(state.getTensorType().clone(element));
    return FailureOr<KeptValues>(std::move(values));
  }

private:
  static bool isKeyOrValue(OpOperand &use) {
    auto attention = dyn_cast<AttentionOp>(use.getOwner());
    return attention &&
           (&use == &attention.getKeyMutable() || &use == &attention.getValueMutable());
  }

  /// Finds the f32 states that only attention reads. Other states keep their type. If the user
  /// requested a type (`isAsked`), it is an error if attention and another op read one state.
  LogicalResult findStates(bool isAsked) {
    llvm::DenseSet<StringAttr> attended;
    llvm::DenseMap<StringAttr, Operation *> others;
    module.walk([&](Operation *op) {
      StringAttr state = op->getNumResults() == 1 ? stateOf(op->getResult(0)) : StringAttr();
      if (!state)
        return;
      for (OpOperand &use : op->getUses())
        if (isKeyOrValue(use))
          attended.insert(state);
        else
          others.try_emplace(state, use.getOwner());
    });
    for (auto state : module.getOps<StateOp>()) {
      if (!state.getTensorType().getElementType().isF32() || state.getTensorType().getRank() != 4)
        continue;
      Operation *other = others.lookup(state.getSymNameAttr());
      if (!other)
        states.insert(state);
      else if (isAsked && attended.contains(state.getSymNameAttr()))
        return state.emitOpError("expected only attention to read what is kept as ")
               << element << ", found '" << other->getName() << "'";
    }
    return success();
  }

  template <typename Op>
  StateOp stateUsedBy(Op op) const {
    return all.lookup(op.getStateAttr().getAttr());
  }

  void change(Operation *op) {
    if (auto get = dyn_cast<StateGetOp>(op); get && states.contains(stateUsedBy(get)))
      return changeGet(get);
    if (auto set = dyn_cast<StateSetOp>(op); set && states.contains(stateUsedBy(set)))
      return changeSet(set);
    if (auto append = dyn_cast<CacheAppendOp>(op); append && states.contains(stateUsedBy(append)))
      return changeAppend(append);
    if (auto attention = dyn_cast<AttentionOp>(op); attention && attention.getKept()) {
      for (bool isKey : {true, false})
        keepOperand(attention, isKey);
      // The types now carry this information. Without the attribute, the kernel can be shared with
      // other attentions.
      attention.setKept(false);
    }
  }

  /// The converted value, created once. Rounding is placed after the definition of `value`; codes
  /// are placed before `reader`, because they need a kernel of their own.
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

  /// The state that holds the scales of the rows of `state`, created once, after it.
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

  /// Clones `op` after itself for the state of the scales.
  template <typename Op>
  Op besideFor(Op op, StateOp scales) {
    builder.setInsertionPointAfter(op);
    auto made = cast<Op>(builder.clone(*op));
    made.setStateAttr(FlatSymbolRefAttr::get(scales.getSymNameAttr()));
    for (Value result : made->getResults())
      result.setType(scales.getTensorType());
    return made;
  }

  void changeGet(StateGetOp get) {
    retype(get.getResult());
    if (!formatOf(type).isCode())
      return;
    StateOp scales = scalesOf(stateUsedBy(get));
    read(get.getResult(), besideFor(get, scales).getResult());
  }

  void changeSet(StateSetOp set) {
    Kept value = kept(set.getValue(), set);
    set.getValueMutable().set(value.rows);
    if (!value.scales)
      return;
    besideFor(set, scalesOf(stateUsedBy(set))).getValueMutable().set(value.scales);
  }

  void changeAppend(CacheAppendOp append) {
    Kept rows = kept(append.getRows(), append);
    append.getRowsMutable().set(rows.rows);
    retype(append.getResult());
    if (!rows.scales)
      return;
    CacheAppendOp beside = besideFor(append, scalesOf(stateUsedBy(append)));
    beside.getRowsMutable().set(rows.scales);
    read(append.getResult(), beside.getResult());
  }

  void retype(Value content) {
    content.setType(cast<RankedTensorType>(content.getType()).clone(element));
    values.insert(content);
  }

  /// Passes the scales of `content` to the attentions that read it.
  static void read(Value content, Value scales) {
    // Collect the readers first, because new operands change the use list.
    SmallVector<std::pair<AttentionOp, bool>> readers;
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
  llvm::DenseMap<StringAttr, StateOp> all; ///< states of the module before the pass
  llvm::SmallSetVector<StateOp, 16> states;
  llvm::DenseMap<Value, Kept> known;
  llvm::DenseMap<Operation *, StateOp> scaleStates;
  KeptValues values;
};

} // namespace

FailureOr<KeptValues> keepRows(ModuleOp module, DType type, bool isAsked) {
  return RowKeeper(module, type).run(isAsked && type != DType::F32);
}

} // namespace heddle::transformer
