//===- OwnRows.cpp - Whole rows of an invocation --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mapping `own_rows`: each invocation has whole rows of an attention's tile, so invocations
// exchange nothing. All of them read the same keys and values, which drivers load once for a
// subgroup. To keep control flow uniform, invocations without rows repeat the last row.

#include "GpuMapping.h"

#include "../GpuEmitter.h"
#include "../GpuProduct.h"

using namespace mlir;

namespace heddle {

namespace {
class OwnRows : public GpuMapping {
public:
  using GpuMapping::GpuMapping;

  LogicalResult emitReduce(kernel::ReduceOp op) override { return e.reduceFragment(op); }
  int64_t stepsOfProduct(std::optional<int64_t>, int64_t) const override { return 2 * kVec4; }
  Value rowOfProduct(Value first, Value base, Value rows) override {
    Value last = e.sub(rows, e.constant(1));
    return e.minimum(e.add(first, base), last);
  }
  bool skipsMissingRows() const override { return false; }
  void sumGuarded(GpuProduct &product, SmallVector<Value> &sums) override {
    product.sumOrRepeat(sums);
  }
  /// Neighboring invocations have neighboring vec4s.
  Value stagedPlace(int64_t, Value row, Value column) override {
    return e.add(e.mul(column, e.placement.ty), row);
  }
  bool exchangesTiles() const override { return false; }
  bool slicesProducts() const override { return true; }
  bool branchesOnRareValues() const override { return true; }
  bool readsApart() const override { return true; }
};
} // namespace

std::unique_ptr<GpuMapping> makeOwnRows(GpuEmitter &emitter) {
  return std::make_unique<OwnRows>(emitter);
}

} // namespace heddle
