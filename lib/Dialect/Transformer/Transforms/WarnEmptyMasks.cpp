//===- WarnEmptyMasks.cpp - Masks that allow nothing ----------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bounds of each attention's mask over all of its pairs, as emitted code whose
// unknown sizes and operands are arguments. Where the analysis of integer ranges
// finds `may` to be false, no pair is allowed, whatever these arguments are.
//
//===----------------------------------------------------------------------===//

#include "MaskContradictions.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Dialect/Transformer/Transforms/Passes.h"

#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace heddle::transformer {

#define GEN_PASS_DEF_WARNEMPTYMASKS
#include "heddle/Dialect/Transformer/Transforms/Passes.h.inc"

namespace {
/// Everything that is not a constant is an argument of its own.
class UnknownSite : public MaskSite {
public:
  UnknownSite(AttentionOp op, Block &body)
      : op(op), location(op.getLoc()),
        heads(cast<RankedTensorType>(op.getQuery().getType()).getDimSize(1)), body(body) {}

  Location loc() const override { return location; }
  Value rowIndices(OpBuilder &b) override { return unknown(b.getI32Type()); }
  Value columnIndices(OpBuilder &b) override { return unknown(b.getI32Type()); }
  Value splat(OpBuilder &, Value scalar) override { return scalar; }
  Value keyCount(OpBuilder &b) override { return size(b, op.getKey(), keys); }
  Value queryCount(OpBuilder &b) override { return size(b, op.getQuery(), queries); }
  Value batch(OpBuilder &b) override { return unknown(b.getI32Type()); }
  Value head(OpBuilder &b) override { return unknown(b.getI32Type()); }
  int64_t headCount() const override { return heads; }
  Value defaultOffset(OpBuilder &b) override {
    return arith::SubIOp::create(b, loc(), keyCount(b), queryCount(b));
  }
  Value scalar(OpBuilder &b, Value operand) override {
    TypedAttr number;
    return matchPattern(operand, m_Constant(&number)) ? arith::ConstantOp::create(b, loc(), number)
                                                      : unknown(operand.getType());
  }
  Value perBatch(OpBuilder &b, Value table) override {
    DenseElementsAttr numbers;
    if (matchPattern(table, m_Constant(&numbers)) && numbers.isSplat())
      return arith::ConstantOp::create(b, loc(),
                                       cast<TypedAttr>(numbers.getSplatValue<Attribute>()));
    return unknown(b.getI32Type());
  }
  Value dense(OpBuilder &b, Value) override { return unknown(b.getI1Type()); }
  Value lookup(OpBuilder &b, Value, Value) override { return unknown(b.getI32Type()); }
  Value lookupRow(OpBuilder &b, Value, Value) override { return unknown(b.getI32Type()); }
  Value lookupColumn(OpBuilder &b, Value) override { return unknown(b.getI32Type()); }
  Value lookupScalar(OpBuilder &b, Value, Value) override { return unknown(b.getI32Type()); }
  std::pair<Value, Value> tableRange(OpBuilder &b, Value, Value, Value) override {
    return {unknown(b.getI32Type()), unknown(b.getI32Type())};
  }
  Value perHead(OpBuilder &b, Value, Value) override { return unknown(b.getF32Type()); }
  Value block(OpBuilder &b, Value, Value, Value) override { return unknown(b.getI1Type()); }

private:
  Value unknown(Type type) { return body.addArgument(type, loc()); }
  Value size(OpBuilder &b, Value heads, Value &known) {
    int64_t count = cast<RankedTensorType>(heads.getType()).getDimSize(2);
    if (!ShapedType::isDynamic(count))
      return arith::ConstantIntOp::create(b, loc(), count, 32);
    if (!known) { // a number of rows: at least one
      Value one = arith::ConstantIntOp::create(b, loc(), 1, 32),
            most = arith::ConstantIntOp::create(b, loc(), (1 << 30) - 1, 32);
      known = arith::MaxSIOp::create(
          b, loc(), arith::MinSIOp::create(b, loc(), unknown(b.getI32Type()), most), one);
    }
    return known;
  }

  AttentionOp op;
  Location location;
  int64_t heads;
  Block &body;
  Value queries, keys;
};
} // namespace

/// Whether no pair of the attention is allowed, whatever the sizes and operands that are not known.
static bool allowsNothing(AttentionOp op) {
  if (excludesItself(op.getMask()))
    return true;
  OpBuilder b(op.getContext());
  OwningOpRef<func::FuncOp> scratch =
      func::FuncOp::create(b, op.getLoc(), "bound", b.getFunctionType({}, {}));
  Block *body = scratch->addEntryBlock();
  b.setInsertionPointToStart(body);
  UnknownSite site(op, *body);
  Value zero = arith::ConstantIntOp::create(b, op.getLoc(), 0, 32);
  Value may =
      boundOf(op.getMask(), b, site, {zero, site.queryCount(b), zero, site.keyCount(b)}).may;
  func::ReturnOp::create(b, op.getLoc(), may);
  DataFlowSolver solver;
  solver.load<dataflow::DeadCodeAnalysis>();
  solver.load<dataflow::IntegerRangeAnalysis>();
  if (failed(solver.initializeAndRun(*scratch)))
    return false;
  auto *range = solver.lookupState<dataflow::IntegerValueRangeLattice>(may);
  return range && !range->getValue().isUninitialized() &&
         range->getValue().getValue().umax().isZero();
}

namespace {
struct WarnEmptyMasks : impl::WarnEmptyMasksBase<WarnEmptyMasks> {
  void runOnOperation() override {
    getOperation()->walk([](AttentionOp op) {
      if (op.getMask() && allowsNothing(op))
        op.emitWarning("the mask allows no key to any query");
    });
    markAllAnalysesPreserved();
  }
};
} // namespace

} // namespace heddle::transformer
