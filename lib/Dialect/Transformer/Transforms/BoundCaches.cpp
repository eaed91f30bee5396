//===- BoundCaches.cpp - Windows of caches --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets the window of a cache, the number of last rows that are read: the widest
// window that the masks of its readers prove.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::transformer {

#define GEN_PASS_DEF_BOUNDCACHES
#include "heddle/Dialect/Transformer/Transforms/Passes.h.inc"

/// Number of keys a query sees at most, counted back from its own key at row i + `at`; none if the
/// mask proves no bound.
static std::optional<int64_t> windowOf(Value mask, Value at) {
  if (!mask)
    return std::nullopt;
  auto inner = [&](Operation *op, auto choose) {
    std::optional<int64_t> chosen = windowOf(op->getOperand(0), at);
    for (Value operand : llvm::drop_begin(op->getOperands()))
      chosen = choose(chosen, windowOf(operand, at));
    return chosen;
  };
  using Window = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Window>(mask.getDefiningOp())
      .Case<MaskWindowOp>([&](MaskWindowOp window) {
        return window.getOffset() == at ? Window(window.getBefore() + 1) : std::nullopt;
      })
      .Case<MaskAndOp>([&](Operation *op) {
        return inner(op, [](Window a, Window b) { return a && b ? std::min(a, b) : a ? a : b; });
      })
      .Case<MaskOrOp>([&](Operation *op) {
        return inner(op, [](Window a, Window b) { return a && b ? std::max(a, b) : std::nullopt; });
      })
      .Default([](Operation *) { return Window(); });
}

/// The widest window among the readers of an append; none if a reader is unbounded or no attention.
static std::optional<int64_t> windowOf(CacheAppendOp append) {
  std::optional<int64_t> widest;
  for (OpOperand &use : append.getResult().getUses()) {
    auto attention = dyn_cast<AttentionOp>(use.getOwner());
    if (!attention || attention.getHiddenScoreAttr())
      return std::nullopt;
    std::optional<int64_t> window = windowOf(attention.getMask(), append.getAt());
    if (!window)
      return std::nullopt;
    widest = std::max(widest, window);
  }
  return widest;
}

namespace {
struct BoundCaches : impl::BoundCachesBase<BoundCaches> {
  void runOnOperation() override {
    llvm::DenseMap<Operation *, int64_t> windows;
    llvm::SmallPtrSet<Operation *, 16> unbounded;
    const llvm::DenseMap<StringAttr, StateOp> states = statesOf(getOperation());
    getOperation().walk([&](Operation *op) {
      if (auto get = dyn_cast<StateGetOp>(op))
        unbounded.insert(states.lookup(get.getStateAttr().getAttr()));
      auto append = dyn_cast<CacheAppendOp>(op);
      if (!append)
        return;
      StateOp state = states.lookup(append.getStateAttr().getAttr());
      std::optional<int64_t> window = append.getAt() ? windowOf(append) : std::nullopt;
      if (!window)
        unbounded.insert(state);
      else
        windows[state] = std::max(windows[state], *window);
    });
    for (auto state : getOperation().getOps<StateOp>()) {
      state.removeWindowAttr(); // discards a written window, which is not proven
      if (windows.contains(state) && !unbounded.contains(state))
        state.setWindow(windows[state]);
    }
  }
};
} // namespace

} // namespace heddle::transformer
