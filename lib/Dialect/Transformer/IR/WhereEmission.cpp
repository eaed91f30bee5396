//===- WhereEmission.cpp - The truth of a formula on a tile ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the ops of mask.where or bias.where for a whole tile. Divisions and
// shifts take forms that are defined for all operands. Values that depend on
// neither i nor j stay scalar until an op combines them with a tile.

#include "MaskArith.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::transformer;

namespace {
/// Emits a formula op by op. `values` maps each value to its scalar or tile.
class FormulaEmitter {
public:
  FormulaEmitter(OpBuilder &b, MaskSite &site, Region &region)
      : b(b), site(site), a{b, site.loc()}, body(region.front()) {}

  /// The yielded value as a tile.
  Value run() {
    for (Operation &op : body.without_terminator())
      values[op.getResult(0)] = emit(&op);
    Value result = value(body.getTerminator()->getOperand(0));
    return isTile(result) ? result : broadcast(result);
  }

private:
  static bool isTile(Value v) { return isa<ShapedType>(v.getType()); }

  /// Broadcasts a scalar to a tile. Constants stay constants, because the emission of divisions
  /// matches them.
  Value broadcast(Value scalar) {
    TypedAttr number;
    if (!matchPattern(scalar, m_Constant(&number)))
      return site.splat(b, scalar);
    auto like = cast<ShapedType>(site.rowIndices(b).getType());
    auto type = like.clone(scalar.getType());
    return arith::ConstantOp::create(b, site.loc(),
                                     DenseElementsAttr::get(type, ArrayRef<Attribute>(number)));
  }

  /// The operands of an op, all as scalars or all as tiles.
  SmallVector<Value> alike(OperandRange operands) {
    SmallVector<Value> result = llvm::map_to_vector(operands, [&](Value v) { return value(v); });
    if (llvm::any_of(result, isTile))
      for (Value &v : result)
        v = isTile(v) ? v : broadcast(v);
    return result;
  }

  Value value(Value v) {
    auto [entry, added] = values.try_emplace(v);
    if (added)
      entry->second = leaf(v);
    return values[v];
  }

  /// The value of a region argument or of a number from outside.
  Value leaf(Value v) {
    if (auto argument = dyn_cast<BlockArgument>(v); argument && argument.getOwner() == &body)
      switch (argument.getArgNumber()) {
      case 0:
        return site.batch(b);
      case 1:
        return site.head(b);
      case 2:
        return site.rowIndices(b);
      default:
        return site.columnIndices(b);
      }
    TypedAttr number;
    if (matchPattern(v, m_Constant(&number)))
      return arith::ConstantOp::create(b, site.loc(), number);
    return site.scalar(b, v);
  }

  Value emit(Operation *op);
  Value integerOp(Operation *op, ArrayRef<Value> x);
  Value floatOp(Operation *op, ArrayRef<Value> x);
  Value compare(arith::CmpIOp op, Value x, Value y);
  Value select(Value c, Value x, Value y);
  Value resize(Operation *op, Value x);
  Value load(MaskLoadOp op);

  OpBuilder &b;
  MaskSite &site;
  MaskArith a;
  Block &body;
  llvm::DenseMap<Value, Value> values;
};
} // namespace

Value FormulaEmitter::emit(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    Type type = constant.getType();
    if (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() > 1)
      return a.i32(cast<IntegerAttr>(constant.getValue()).getValue().getSExtValue());
    return arith::ConstantOp::create(b, site.loc(), constant.getValue());
  }
  if (auto loaded = dyn_cast<MaskLoadOp>(op))
    return load(loaded);
  SmallVector<Value> x = alike(op->getOperands());
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
    return resize(op, x[0]);
  if (Value result = integerOp(op, x))
    return result;
  return floatOp(op, x);
}

Value FormulaEmitter::integerOp(Operation *op, ArrayRef<Value> x) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::AddIOp) { return a.add(x[0], x[1]); })
      .Case([&](arith::SubIOp) { return a.sub(x[0], x[1]); })
      .Case([&](arith::MulIOp) { return a.mul(x[0], x[1]); })
      .Case([&](arith::DivSIOp) { return a.divide(x[0], x[1]); })
      .Case([&](arith::RemSIOp) { return a.remainder(x[0], x[1]); })
      .Case([&](arith::FloorDivSIOp) { return a.divideFloor(x[0], x[1]); })
      .Case([&](arith::CeilDivSIOp) { return a.divideCeil(x[0], x[1]); })
      .Case([&](arith::MinSIOp) { return a.min(x[0], x[1]); })
      .Case([&](arith::MaxSIOp) { return a.max(x[0], x[1]); })
      .Case([&](arith::AndIOp) { return a.both(x[0], x[1]); })
      .Case([&](arith::OrIOp) { return a.either(x[0], x[1]); })
      .Case([&](arith::XOrIOp) { return a.differ(x[0], x[1]); })
      .Case([&](arith::ShLIOp) { return a.shiftLeft(x[0], x[1]); })
      .Case([&](arith::ShRSIOp) { return a.shiftRight(x[0], x[1]); })
      .Case([&](arith::ShRUIOp) { return a.shiftRightUnsigned(x[0], x[1]); })
      .Case([&](arith::CmpIOp cmp) { return compare(cmp, x[0], x[1]); })
      .Case([&](arith::SelectOp) { return select(x[0], x[1], x[2]); })
      .Default([](Operation *) { return Value(); });
}

Value FormulaEmitter::floatOp(Operation *op, ArrayRef<Value> x) {
  Location loc = site.loc();
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::MaximumFOp,
            arith::MinimumFOp>(
          [&](auto binary) -> Value { return decltype(binary)::create(b, loc, x[0], x[1]); })
      .Case<arith::NegFOp, math::AbsFOp, math::ExpOp, math::LogOp>(
          [&](auto unary) -> Value { return decltype(unary)::create(b, loc, x[0]); })
      .Case([&](arith::CmpFOp cmp) -> Value {
        return arith::CmpFOp::create(b, loc, cmp.getPredicate(), x[0], x[1]);
      })
      .Case([&](arith::SIToFPOp) -> Value {
        Type f32 = b.getF32Type();
        Type type = isTile(x[0]) ? Type(cast<ShapedType>(x[0].getType()).clone(f32)) : f32;
        return arith::SIToFPOp::create(b, loc, type, x[0]);
      })
      .Default([](Operation *) -> Value { llvm_unreachable("the verifier refuses other ops"); });
}

/// Compares i1 values as numbers; true is -1 in signed comparisons.
Value FormulaEmitter::compare(arith::CmpIOp op, Value x, Value y) {
  using P = arith::CmpIPredicate;
  P p = op.getPredicate();
  if (!getElementTypeOrSelf(x).isInteger(1))
    return a.compare(p, x, y);
  if (p == P::eq || p == P::ne)
    return p == P::ne ? a.differ(x, y) : a.negate(a.differ(x, y));
  bool isSigned = p == P::slt || p == P::sle || p == P::sgt || p == P::sge;
  // x < y as numbers; in signed comparisons true is the smaller value.
  bool less = p == P::slt || p == P::sle || p == P::ult || p == P::ule;
  bool orEqual = p == P::sle || p == P::sge || p == P::ule || p == P::uge;
  Value smaller = less ? x : y, larger = less ? y : x;
  if (isSigned)
    std::swap(smaller, larger);
  return orEqual ? a.either(a.negate(smaller), larger) : a.both(a.negate(smaller), larger);
}

Value FormulaEmitter::select(Value c, Value x, Value y) {
  if (!getElementTypeOrSelf(x).isInteger(1))
    return a.select(c, x, y);
  return a.either(a.both(c, x), a.both(a.negate(c), y));
}

/// Numbers of 8 and 16 bits are kept in 32 bits, sign-extended.
Value FormulaEmitter::resize(Operation *op, Value x) {
  unsigned from = op->getOperand(0).getType().getIntOrFloatBitWidth(),
           to = op->getResult(0).getType().getIntOrFloatBitWidth();
  if (isa<arith::TruncIOp>(op) && to == 1) {
    Value low = a.both(x, a.integer(1, x));
    return a.compare(arith::CmpIPredicate::ne, low, a.integer(0, x));
  }
  if (isa<arith::TruncIOp>(op)) {
    Value shift = a.integer(32 - to, x);
    return a.shiftRight(a.shiftLeft(x, shift), shift);
  }
  if (from == 1) {
    Value like = isTile(x) ? site.rowIndices(b) : a.i32(0);
    return a.select(x, a.integer(isa<arith::ExtSIOp>(op) ? -1 : 1, like), a.integer(0, like));
  }
  return isa<arith::ExtSIOp>(op) ? x : a.both(x, a.integer((int64_t(1) << from) - 1, x));
}

Value FormulaEmitter::load(MaskLoadOp op) {
  Value index = op.getIndices().back();
  if (index == body.getArgument(2))
    return site.lookupRow(b, op.getTable());
  if (index == body.getArgument(3))
    return site.lookupColumn(b, op.getTable());
  Value x = value(index);
  return isTile(x) ? site.lookup(b, op.getTable(), x) : site.lookupScalar(b, op.getTable(), x);
}

Value MaskWhereOp::emitPredicate(OpBuilder &b, MaskSite &site) {
  return FormulaEmitter(b, site, getBody()).run();
}

Value BiasWhereOp::emitScore(OpBuilder &b, MaskSite &site) {
  return FormulaEmitter(b, site, getBody()).run();
}
