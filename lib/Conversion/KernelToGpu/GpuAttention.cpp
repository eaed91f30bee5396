//===- GpuAttention.cpp - Attention through matrix units ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements GpuAttention: analysis of the kernel, reductions, sums and the loop.
#include "GpuAttention.h"

#include "GpuLoops.h"
#include "GpuProduct.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using heddle::kernel::BroadcastOp;
using heddle::kernel::ContractOp;
using heddle::kernel::Fragment;
using heddle::kernel::ReduceKind;

namespace heddle {

//===- Analysis of the kernel ---------------------------------------------===//

/// Returns the last product of a form in a kernel, or null.
template <class Product>
static Product productOf(kernel::FuncOp func) {
  Product found;
  func.walk([&](Product op) { found = op; });
  return found;
}

LogicalResult placeAttention(kernel::FuncOp func, const GpuTarget &target,
                             GpuPlacement &placement) {
  if (placement.tx != AttentionTile::rowInvocations)
    return func.emitOpError() << "expected " << AttentionTile::rowInvocations
                              << " invocations a row in attention for matrix units, found "
                              << placement.tx;
  auto keys = productOf<ContractOp>(func);
  if (!keys)
    return func.emitOpError(
        "expected a product over features in attention for matrix units, found none");
  placement.matrix = target.matrixOf(elementOf(keys.getLhs()), elementOf(keys.getRhs()));
  if (!placement.matrix)
    return keys.emitOpError("expected a product that matrix units of level ")
           << target.name() << " take, found " << cast<kernel::ViewType>(keys.getLhs().getType())
           << " by " << cast<kernel::ViewType>(keys.getRhs().getType());
  return success();
}

GpuAttention::GpuAttention(GpuEmitter &emitter, kernel::FuncOp func)
    : e(emitter), builder(emitter.builder), loc(emitter.loc),
      tile(emitter, productOf<ContractOp>(func), productOf<kernel::ContractRowsOp>(func)) {
  for (Operation *op = tile.keys; op; op = op->getParentOp())
    if (auto around = dyn_cast<scf::ForOp>(op))
      loop = around; // the outermost
  findMatrices();
  if (tile.isBf16())
    rounding = tile.values.getLhs().getDefiningOp<arith::TruncFOp>();
  else
    findScaling();
}

void GpuAttention::findScaling() {
  DenseElementsAttr constant;
  if (tile.keys->hasOneUse())
    if (auto user = dyn_cast<arith::MulFOp>(*tile.keys->user_begin());
        user && matchPattern(user.getRhs(), m_Constant(&constant)) && constant.isSplat()) {
      scaling = user;
      factor = constant.getSplatValue<float>();
    }
}

/// Collects the tiles that depend on the product with values, and the one that the loop carries.
void GpuAttention::findMatrices() {
  for (auto [i, init] : llvm::enumerate(loop.getInitArgs()))
    if (auto type = dyn_cast<RankedTensorType>(init.getType()); type && type.getDimSize(1) > 1) {
      carriedTile = i;
      for (Value same : {init, Value(loop.getRegionIterArg(i)), Value(loop.getResult(i))})
        matrices.insert(same);
    }
  matrices.insert(tile.values.getResult());
  loop.getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<arith::MulFOp, arith::AddFOp>(op) &&
        llvm::any_of(op->getOperands(), [&](Value operand) { return matrices.contains(operand); }))
      matrices.insert(op->getResult(0));
  });
  loop.getBody()->walk([&](scf::IfOp op) {
    if (!op.getNumResults())
      return;
    for (auto [yielded, result] : llvm::zip(op.elseYield().getOperands(), op.getResults()))
      if (matrices.contains(yielded))
        matrices.insert(result);
  });
}

//===- Reductions ---------------------------------------------------------===//

/// Reduces rows by lanes, in their fixed order. Each invocation of a row reduces each of its eight
/// lanes in ascending columns. The lanes of both invocations are then combined.
FailureOr<Fragment> GpuAttention::emitReduce(kernel::ReduceOp op) {
  FailureOr<Fragment> from = e.use(op.getOperand());
  if (failed(from))
    return failure();
  const ReduceKind kind = op.getKind();
  auto subgroup = spirv::ScopeAttr::get(builder.getContext(), spirv::Scope::Subgroup);
  auto other = [&](Value x) -> Value {
    return spirv::GroupNonUniformShuffleXorOp::create(builder, loc, x.getType(), subgroup, x,
                                                      e.constant(1));
  };
  Fragment result{{}, from->rows, 0};
  for (int64_t row = 0; row < from->rows; ++row) {
    Value low, high;
    for (int64_t j = 0; j < from->vectors; ++j) {
      Value &lanes = j % 2 ? high : low;
      lanes = lanes ? e.combine(kind, lanes, from->at(row, j)) : from->at(row, j);
    }
    if (kind == ReduceKind::Max) {
      Value own = e.reduceLanes(kind, {e.combine(kind, low, high)});
      result.registers.push_back(e.combine(kind, own, other(own)));
      continue;
    }
    for (Value *lanes : {&low, &high}) {
      Registers words;
      for (int64_t lane = 0; lane < kVec4; ++lane)
        words.push_back(other(e.extract(*lanes, lane)));
      *lanes = e.combine(kind, *lanes, e.vectorOf(words));
    }
    result.registers.push_back(e.reduceLanes(kind, {e.combine(kind, low, high)}));
  }
  return result;
}

//===- Products ----------------------------------------------------------===//

/// Whether the first row and the number of rows of the values are known before the scores.
bool GpuAttention::knowsValues() {
  return llvm::all_of(ValueRange{tile.values.getRhsIndex(), tile.values.getRows()},
                      [&](Value index) {
                        Operation *op = index.getDefiningOp();
                        return !op || !loop->isProperAncestor(op) || op->isBeforeInBlock(tile.keys);
                      });
}

FailureOr<Fragment> GpuAttention::emitProduct(kernel::ProductOpInterface op) {
  if (op != tile.keys)
    return values.multiply(valuesAreStaged);
  valuesAreStaged = !tile.isWide() &&
                    staging.copiesOf(tile.values) <= AttentionStaging::mostCopies && knowsValues();
  return scores.multiply(valuesAreStaged);
}

//===- Sums of weighted values --------------------------------------------===//

/// Returns the numbers of rows that a tile broadcasts. Fails if the tile is no broadcast of them.
FailureOr<Fragment> GpuAttention::numbersOf(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || !GpuEmitter::isTile(broadcast.getOperand().getType()))
    return failure();
  FailureOr<Fragment> numbers = e.use(broadcast.getOperand());
  if (succeeded(numbers) && numbers->vectors)
    return failure();
  return numbers;
}

/// Returns matrices in which each column holds the given numbers of rows. The numbers are stored as
/// factors 0 or 1 of the rows, as `slot` says.
GpuAttention::Registers GpuAttention::factors(const Fragment &numbers, int64_t slot) {
  const int64_t start = slot * tile.rows;
  for (int64_t row = 0; row < numbers.rows; ++row)
    e.store(tile.factorAt(e.add(e.rowBase(), e.constant(start + row))), numbers.at(row, 0));
  e.entry.meetSubgroup();
  Registers result;
  for (int64_t i = 0; i < tile.down; ++i) {
    Value first = e.add(tile.firstRow, e.constant(start + i * tile.shape.m));
    result.push_back(tile.load(AttentionTile::Use::MatrixAcc, tile.factorAt(first), /*stride=*/0,
                               AttentionTile::Layout::ColumnMajor));
  }
  return result;
}

LogicalResult GpuAttention::emitElementwise(Operation &op) {
  if (isFolded(op)) {
    Fragment same = e.fragments[op.getOperand(0)]; // a copy: a new entry may move the others
    e.fragments[op.getResult(0)] = std::move(same);
    return success();
  }
  Fragment result{{}, tile.down, tile.valueColumns / tile.shape.n};
  Value left = op.getOperand(0), right = op.getOperand(1);
  if (isa<arith::AddFOp>(op) && holds(left) && holds(right)) {
    for (auto [x, y] : llvm::zip(e.fragments[left].registers, e.fragments[right].registers))
      result.registers.push_back(spirv::FAddOp::create(builder, loc, x, y));
  } else {
    FailureOr<Fragment> numbers = failure();
    if (isa<arith::MulFOp>(op) && holds(left))
      numbers = numbersOf(right);
    if (failed(numbers))
      return op.emitOpError("expected a sum of weighted values, or their product with numbers of "
                            "rows");
    Registers rows = factors(*numbers, /*slot=*/isa<BlockArgument>(left));
    for (auto [i, x] : llvm::enumerate(e.fragments[left].registers))
      result.registers.push_back(
          spirv::FMulOp::create(builder, loc, x, rows[static_cast<int64_t>(i) / result.vectors]));
  }
  e.fragments[op.getResult(0)] = std::move(result);
  return success();
}

/// The initial value of the loop is not a matrix and must be zero.
LogicalResult GpuAttention::carry(Value value) {
  auto found = e.fragments.find(value);
  const bool isMatrix =
      found != e.fragments.end() &&
      isa<spirv::CooperativeMatrixType>(found->second.registers.front().getType());
  if (!isMatrix && !matchPattern(value, m_AnyZeroFloat()))
    return emitError(value.getLoc(), "expected sums of weighted values that begin as zero");
  for (auto [i, variable] : llvm::enumerate(sums))
    e.store(variable, isMatrix ? found->second.registers[i] : tile.zeroSum());
  return success();
}

void GpuAttention::carried(Value value) {
  Fragment fragment{{}, tile.down, tile.valueColumns / tile.shape.n};
  for (Value variable : sums)
    fragment.registers.push_back(e.load(variable));
  e.fragments[value] = std::move(fragment);
}

/// Moves the sums through the strip and returns this invocation's elements of its rows.
GpuAttention::Registers GpuAttention::readSums(ArrayRef<Value> all) {
  const int64_t vectors = e.fragmentVectors(tile.valueColumns);
  Registers own(e.placement.rows * vectors);
  tile.overColumns(tile.chunk, [&](int64_t first, int64_t columns) {
    e.workgroup.barrier();
    tile.overMatrices(first, columns, /*offset=*/0, [&](int64_t number, Value place) {
      tile.unit.store(all[number], place, tile.stripPitch());
    });
    e.workgroup.barrier();
    const int64_t part = e.fragmentVectors(columns), before = e.fragmentVectors(first);
    for (auto [i, vec4] : llvm::enumerate(tile.readStrip(columns)))
      own[static_cast<int64_t>(i) / part * vectors + before + static_cast<int64_t>(i) % part] =
          vec4;
  });
  return own;
}

//===- The loop -----------------------------------------------------------===//

/// Returns 1 if a condition holds for any invocation of the workgroup, else 0.
Value GpuAttention::isAnywhere(Value condition) {
  auto entry = [&] { // a vec4, so that arrays after it are aligned
    return e.entry.shared(SharedArray::Lanes, builder.getI32Type(), kVec4, e.constant(0));
  };
  e.onlyIf(e.compare(arith::CmpIPredicate::eq, e.number, e.constant(0)),
           [&] { e.store(entry(), e.constant(0)); });
  e.workgroup.barrier();
  e.onlyIf(condition, [&] { e.store(entry(), e.constant(1)); });
  e.workgroup.barrier();
  return e.load(entry());
}

/// Hoists integer arithmetic, for example of places in workgroup memory. Drivers leave it in loops.
void GpuAttention::hoistInvariants() {
  auto last = llvm::find_if(llvm::reverse(*builder.getInsertionBlock()),
                            [](Operation &op) { return isa<scf::ForOp>(op); });
  auto body = cast<scf::ForOp>(*last);
  moveLoopInvariantCode(
      body.getLoopRegions(),
      [&](Value value, Region *) { return body.isDefinedOutsideOfLoop(value); },
      [](Operation *op, Region *) { // accesses fold sums with constants
        return isa<arith::ArithDialect>(op->getDialect()) &&
               !(isa<arith::AddIOp>(op) && matchPattern(op->getOperand(1), m_Constant()));
      },
      [&](Operation *op, Region *) { op->moveBefore(body); });
}

/// Emits the loop once. Appends the registers of its results, with sums distributed to the
/// invocations, and whether the loop must run again.
LogicalResult GpuAttention::runOnce(Registers &results, Value pass) {
  tile.again = e.compare(arith::CmpIPredicate::ne, pass, e.constant(0));
  if (failed(e.emitLoop(loop)))
    return failure();
  hoistInvariants();
  Value carried = loop.getResult(carriedTile);
  Fragment own = e.shapeOf(carried.getType());
  own.registers = readSums(e.fragments[carried].registers);
  e.fragments[carried] = own;
  for (Value result : loop.getResults())
    llvm::append_range(results, e.fragments[result].registers);
  results.push_back(isAnywhere(isAnyNotFinite(e, own.registers)));
  return success();
}

/// for pass in 0 to 2: if pass is 0 or a sum is not finite { results = the loop }
LogicalResult GpuAttention::emitLoop() {
  sums = tile.makeVariables();
  tile.place();
  staging.place();
  scores.stageQueries(factor);
  Registers state;
  for (Value result : loop.getResults()) {
    Fragment part = e.shapeOf(result.getType());
    auto zero = builder.getZeroAttr(e.registerType(builder.getF32Type(), part.vectors));
    state.append(part.size(), arith::ConstantOp::create(builder, loc, cast<TypedAttr>(zero)));
  }
  state.push_back(e.constant(1));
  LogicalResult emitted = success();
  auto outside = e.fragments;
  e.loopOver(e.constant(0), e.constant(2), 1, state, [&](Value pass) {
    e.markLoop(kRolled);
    Value asked = e.compare(arith::CmpIPredicate::ne, state.back(), e.constant(0));
    e.replaceIf(asked, state, [&](MutableArrayRef<Value> replaced) {
      Registers results;
      emitted = runOnce(results, pass);
      if (succeeded(emitted))
        llvm::copy(results, replaced.begin());
    });
  });
  e.fragments = std::move(outside);
  ArrayRef<Value> rest = state;
  for (Value result : loop.getResults()) {
    Fragment part = e.shapeOf(result.getType());
    llvm::append_range(part.registers, rest.take_front(part.size()));
    rest = rest.drop_front(part.size());
    e.fragments[result] = std::move(part);
  }
  return emitted;
}

} // namespace heddle
