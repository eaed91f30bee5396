//===- BodyEmitter.cpp - Ops of a body on registers -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Target-independent part of BodyEmitter: dispatch, scalars, constants,
// elementwise ops and index arithmetic.

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::kernel;

//===- Index arithmetic, folded as it is made ----------------------------===//

Value BodyEmitter::constant(int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(indexType, value));
}

std::optional<int64_t> BodyEmitter::constantOf(Value value) {
  if (!value)
    return 0;
  APInt bits;
  if (!matchPattern(value, m_ConstantInt(&bits)))
    return std::nullopt;
  return bits.getSExtValue();
}

Value BodyEmitter::add(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}

Value BodyEmitter::sub(Value a, Value b) {
  if (!b)
    return a;
  return builder.createOrFold<arith::SubIOp>(loc, a ? a : constant(0), b);
}

Value BodyEmitter::mul(Value a, Value b) {
  if (!a || !b)
    return {};
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}

Value BodyEmitter::mul(Value a, int64_t b) { return b == 1 ? a : mul(a, constant(b)); }

Value BodyEmitter::minimum(Value a, Value b) {
  return builder.createOrFold<arith::MinSIOp>(loc, a, b);
}

Value BodyEmitter::maximum(Value a, Value b) {
  return builder.createOrFold<arith::MaxSIOp>(loc, a, b);
}

Value BodyEmitter::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, predicate, a, b);
}

Value BodyEmitter::select(Value condition, Value yes, Value no) {
  return arith::SelectOp::create(builder, loc, condition, yes, no);
}

void BodyEmitter::loopOver(Value from, Value to, int64_t step, SmallVectorImpl<Value> &values,
                           function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(builder, loc, from, to, constant(step),
                                 ValueRange(ArrayRef<Value>(values)));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  values.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  body(loop.getInductionVar());
  if (!values.empty())
    scf::YieldOp::create(builder, loc, values);
  values.assign(loop.result_begin(), loop.result_end());
}

scf::ForOp BodyEmitter::loopBy(Value from, Value to, int64_t step) {
  auto loop = scf::ForOp::create(builder, loc, from, to, constant(step));
  builder.setInsertionPointToStart(loop.getBody());
  return loop;
}

void BodyEmitter::enterIf(Value condition) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
}

Address BodyEmitter::moved(Address place, Value dynamic, int64_t constant) {
  if (std::optional<int64_t> known = constantOf(dynamic))
    return {place.dynamic, place.constant + *known + constant};
  return {add(place.dynamic, dynamic), place.constant + constant};
}

//===- Fragments ---------------------------------------------------------===//

bool BodyEmitter::touchesTiles(Operation &op) {
  return op
      .walk([](Operation *inner) {
        bool tiles = llvm::any_of(inner->getOperandTypes(), isTile) ||
                     llvm::any_of(inner->getResultTypes(), isTile);
        return tiles ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

Fragment BodyEmitter::shapeOf(Type tile) const {
  auto type = cast<RankedTensorType>(tile);
  Fragment shape;
  shape.rows = type.getDimSize(0) == 1 ? 1 : fragmentRows();
  shape.vectors = type.getDimSize(1) == 1 ? 0 : fragmentVectors(type.getDimSize(1));
  return shape;
}

Type BodyEmitter::registerType(Type element, int64_t vectors) const {
  if (perWord(element) > 1) // the target's representation
    element = narrowElement(element);
  return vectors && width > 1 ? Type(VectorType::get({width}, element)) : element;
}

void BodyEmitter::appendRegisterTypes(Value value, SmallVectorImpl<Type> &types) const {
  if (carriesItself(value))
    return;
  Type type = value.getType();
  if (!isTile(type)) {
    types.push_back(type.isIndex() ? indexType : type);
    return;
  }
  Fragment shape = shapeOf(type);
  types.append(shape.size(), registerType(getElementTypeOrSelf(type), shape.vectors));
}

LogicalResult BodyEmitter::appendRegisters(Value value, SmallVectorImpl<Value> &registers) {
  if (carriesItself(value))
    return carry(value);
  if (!isTile(value.getType())) {
    registers.push_back(scalar(value));
    return success();
  }
  FailureOr<Fragment> fragment = use(value);
  if (failed(fragment))
    return failure();
  llvm::append_range(registers, fragment->registers);
  return success();
}

void BodyEmitter::bindRegisters(ValueRange values, ValueRange registers) {
  for (Value value : values) {
    if (carriesItself(value)) {
      carried(value);
      continue;
    }
    if (!isTile(value.getType())) {
      scalars[value] = registers.front();
      registers = registers.drop_front();
      continue;
    }
    Fragment fragment = shapeOf(value.getType());
    llvm::append_range(fragment.registers, registers.take_front(fragment.size()));
    registers = registers.drop_front(fragment.size());
    fragments[value] = std::move(fragment);
  }
}

FailureOr<Fragment> BodyEmitter::use(Value tile) {
  if (auto known = fragments.find(tile); known != fragments.end())
    return known->second;
  return materialize(tile);
}

FailureOr<Fragment> BodyEmitter::operand(Value value) {
  return isTile(value.getType()) ? use(value) : Fragment{{scalar(value)}, 1, 0};
}

bool BodyEmitter::recomputes(Operation &op) const {
  if (isa<arith::ConstantOp, BroadcastOp, IotaOp>(op))
    return op.getNumResults() == 1 && isTile(op.getResult(0).getType());
  auto load = dyn_cast<LoadOp>(op);
  return load && load.getType().getDimSize(0) == 1;
}

FailureOr<Fragment> BodyEmitter::materialize(Value tile) {
  Operation *producer = tile.getDefiningOp();
  if (!producer || !recomputes(*producer))
    return emitError(tile.getLoc(),
                     "expected a tile that is in registers or can be computed again, found ")
           << tile;
  if (failed(emitOp(*producer)))
    return failure();
  return fragments[tile];
}

Value BodyEmitter::scalar(Value value) {
  if (auto known = scalars.find(value); known != scalars.end())
    return known->second;
  // Constants are emitted at their first use.
  if (auto producer = value.getDefiningOp<arith::ConstantOp>())
    if (succeeded(emitConstant(producer)))
      return scalars.lookup(value);
  llvm_unreachable("a scalar is emitted before its users");
}

const BoundView &BodyEmitter::view(Value value) { return views.find(value)->second; }

Value BodyEmitter::splat(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return vector::BroadcastOp::create(builder, loc, type, value);
}

Value BodyEmitter::zeroVector() {
  auto type = VectorType::get({width}, builder.getF32Type());
  return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
}

Value BodyEmitter::zeroSum(ProductOpInterface op) {
  auto type = VectorType::get({width}, op.getType().getElementType());
  return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
}

//===- Dispatch ----------------------------------------------------------===//

LogicalResult BodyEmitter::emitOp(Operation &op) {
  loc = op.getLoc();
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<ProductOpInterface>([&](auto o) { return emitContract(o); })
      .Case<LoadOp>([&](auto o) { return emitLoad(o); })
      .Case<GatherOp>([&](auto o) { return emitGather(o); })
      .Case<StoreOpInterface>([&](auto o) { return emitStore(o); })
      .Case<ReduceOp>([&](auto o) { return emitReduce(o); })
      .Case<BroadcastOp>([&](auto o) { return emitBroadcast(o); })
      .Case<ScalebOp>([&](auto o) { return emitScaleb(o); })
      .Case<IotaOp>([&](auto o) { return emitIota(o); })
      .Case<RandomWordsOp>([&](auto o) { return emitRandomWords(o); })
      .Case<ReadOp>([&](auto o) { return emitRead(o); })
      .Case<MaskOp>([&](auto o) { return emitMask(o); })
      .Case<LookupOp>([&](auto o) { return emitLookup(o); })
      .Case<TableRangeOp>([&](auto o) { return emitTableRange(o); })
      .Case<SliceOp>([&](auto o) { return emitSlice(o); })
      .Case<ExtentOp>([&](ExtentOp o) {
        scalars[o.getResult()] = view(o.getView()).extents[o.getDim()];
        return success();
      })
      .Case<ScalarOp>([&](ScalarOp o) -> LogicalResult {
        if (scalars.contains(o.getResult()))
          return success();
        return o.emitOpError("expected the target to bind the scalar");
      })
      .Case<scf::ForOp>([&](auto o) { return emitFor(o); })
      .Case<scf::IfOp>([&](auto o) { return emitIf(o); })
      .Case<scf::YieldOp, MaskYieldOp>([](auto) { return success(); })
      .Case<arith::ConstantOp>([&](auto o) { return emitConstant(o); })
      .Case<arith::IndexCastOp>([&](auto o) { return emitIndexCast(o); })
      .Case<arith::TruncFOp>([&](auto) { return emitNarrowing(op); })
      .Case<arith::TruncIOp>([&](auto) {
        return isTile(op.getResult(0).getType()) ? emitNarrowing(op) : emitScalarOp(op);
      })
      .Default(
          [&](Operation *o) { return touchesTiles(*o) ? emitElementwise(*o) : emitScalarOp(*o); });
}

//===- Constants and scalars ---------------------------------------------===//

LogicalResult BodyEmitter::emitConstant(arith::ConstantOp op) {
  if (op.getType().isIndex()) {
    scalars[op.getResult()] = constant(cast<IntegerAttr>(op.getValue()).getInt());
    return success();
  }
  auto tile = dyn_cast<RankedTensorType>(op.getType());
  if (!tile) {
    scalars[op.getResult()] = builder.clone(*op)->getResult(0);
    return success();
  }
  auto elements = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!elements)
    return op.emitOpError("expected one value for all elements of a tile");
  Fragment fragment = shapeOf(tile);
  auto element = elements.getSplatValue<Attribute>();
  TypedAttr value = cast<TypedAttr>(element);
  if (auto vector = dyn_cast<VectorType>(registerType(tile.getElementType(), fragment.vectors)))
    value = DenseElementsAttr::get(vector, element);
  fragment.registers.assign(fragment.size(), arith::ConstantOp::create(builder, loc, value));
  fragments[op.getResult()] = std::move(fragment);
  return success();
}

LogicalResult BodyEmitter::emitIndexCast(arith::IndexCastOp op) {
  if (isTile(op.getType()))
    return op.emitOpError("expected a cast of a scalar, found one of a tile");
  Value value = scalar(op.getIn());
  Type to = op.getType().isIndex() ? indexType : op.getType();
  unsigned fromBits = value.getType().getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (fromBits > toBits)
    value = arith::TruncIOp::create(builder, loc, to, value);
  else if (fromBits < toBits)
    value = arith::ExtSIOp::create(builder, loc, to, value);
  scalars[op.getResult()] = value;
  return success();
}

LogicalResult BodyEmitter::emitScalarOp(Operation &op) {
  if (op.getNumRegions())
    return op.emitOpError("expected no region in an op on scalars");
  IRMapping mapping;
  for (Value operand : op.getOperands())
    mapping.map(operand, scalar(operand));
  Operation *clone = builder.clone(op, mapping);
  for (auto [from, to] : llvm::zip(op.getResults(), clone->getResults())) {
    if (to.getType().isIndex())
      to.setType(indexType);
    scalars[from] = to;
  }
  return success();
}

//===- Elementwise ops, broadcast, iota ----------------------------------===//

/// Clones the op once for each register.
LogicalResult BodyEmitter::emitElementwise(Operation &op) {
  if (op.getNumResults() != 1 || op.getNumRegions() || !isTile(op.getResult(0).getType()) ||
      !isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op.getDialect()))
    return op.emitOpError("expected an elementwise op of arith or math on tiles");
  Fragment result = shapeOf(op.getResult(0).getType());
  SmallVector<Fragment> operands;
  for (Value operand : op.getOperands()) {
    FailureOr<Fragment> fragment = this->operand(operand);
    if (failed(fragment))
      return failure();
    operands.push_back(std::move(*fragment));
  }
  for (int64_t i = 0; i < result.size(); ++i) {
    IRMapping mapping;
    for (auto [operand, fragment] : llvm::zip(op.getOperands(), operands))
      mapping.map(operand, fragment.registers[isTile(operand.getType()) ? i : 0]);
    Value made = builder.clone(op, mapping)->getResult(0);
    made.setType(registerType(getElementTypeOrSelf(made.getType()), result.vectors));
    result.registers.push_back(made);
  }
  fragments[op.getResult(0)] = std::move(result);
  return success();
}

LogicalResult BodyEmitter::emitScaleb(ScalebOp op) {
  if (!isTile(op.getType())) {
    scalars[op.getResult()] = scaleByPower(scalar(op.getValue()), scalar(op.getExponent()));
    return success();
  }
  FailureOr<Fragment> value = use(op.getValue()), exponent = use(op.getExponent());
  if (failed(value) || failed(exponent))
    return failure();
  Fragment result = shapeOf(op.getType());
  for (auto [x, n] : llvm::zip(value->registers, exponent->registers))
    result.registers.push_back(scaleByPower(x, n));
  fragments[op.getResult()] = std::move(result);
  return success();
}

LogicalResult BodyEmitter::emitNarrowing(Operation &op) {
  auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  if (!type || type.getDimSize(1) == 1 || perWord(type.getElementType()) == 1)
    return op.emitOpError(
               "expected tiles of several columns in a type narrower than a word, found ")
           << op.getResult(0).getType();
  FailureOr<Fragment> from = use(op.getOperand(0));
  if (failed(from))
    return failure();
  Fragment result = *from;
  for (Value &value : result.registers)
    value = narrow(value, type.getElementType());
  fragments[op.getResult(0)] = std::move(result);
  return success();
}

LogicalResult BodyEmitter::emitBroadcast(BroadcastOp op) {
  Fragment result = shapeOf(op.getType());
  Type type = registerType(op.getType().getElementType(), result.vectors);
  if (!isTile(op.getOperand().getType())) {
    result.registers.assign(result.size(), splat(scalar(op.getOperand()), type));
    fragments[op.getResult()] = std::move(result);
    return success();
  }
  FailureOr<Fragment> from = use(op.getOperand());
  if (failed(from))
    return failure();
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = 0; column < result.columns(); ++column) {
      // A row scalar is broadcast once and shared by all registers of the row.
      if (column && !from->vectors)
        result.registers.push_back(result.registers.back());
      else
        result.registers.push_back(
            splat(from->at(from->rows == 1 ? 0 : row, from->vectors ? column : 0), type));
    }
  fragments[op.getResult()] = std::move(result);
  return success();
}

/// Row indices are equal along a row and column indices along a column, so each is emitted once.
LogicalResult BodyEmitter::emitIota(IotaOp op) {
  Fragment result = shapeOf(op.getType());
  int64_t tileColumns = columnsOf(op.getType());
  Type i32 = builder.getI32Type(), type = registerType(i32, result.vectors);
  Value start = add(scalar(op.getStart()), op.getOfRows()   ? rowBase()
                                           : result.vectors ? columnBase(tileColumns)
                                                            : Value());
  if (start.getType() != i32)
    start = arith::TruncIOp::create(builder, loc, i32, start);
  start = splat(start, type);
  auto offset = [&](int64_t row, int64_t column) -> TypedAttr {
    int64_t base = op.getOfRows() ? row : vectorColumn(column, tileColumns);
    auto vector = dyn_cast<VectorType>(type);
    if (!vector)
      return builder.getI32IntegerAttr(op.getOfRows() ? row : result.vectors ? base : 0);
    SmallVector<int32_t> lanes(width, base);
    for (int64_t lane = 0; lane < width && !op.getOfRows(); ++lane)
      lanes[lane] += lane;
    return DenseIntElementsAttr::get(vector, lanes);
  };
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = 0; column < result.columns(); ++column) {
      if (op.getOfRows() ? column != 0 : row != 0) {
        result.registers.push_back(op.getOfRows() ? result.registers.back()
                                                  : result.registers[column]);
        continue;
      }
      Value lanes = arith::ConstantOp::create(builder, loc, offset(row, column));
      result.registers.push_back(arith::AddIOp::create(builder, loc, start, lanes));
    }
  fragments[op.getResult()] = std::move(result);
  return success();
}

//===- Arithmetic of reductions ------------------------------------------===//

Value BodyEmitter::larger(Value a, Value b) {
  Value isLarger = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b);
  return select(isLarger, a, b);
}
