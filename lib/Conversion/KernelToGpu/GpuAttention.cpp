//===- GpuAttention.cpp - Attention through matrix units ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements GpuAttention without its products (GpuAttentionProducts.cpp):
// analysis of the kernel, places in workgroup memory, reductions, sums and the loop.
#include "GpuAttention.h"

#include "GpuLoops.h"
#include "GpuProduct.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using heddle::kernel::BoundView;
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
  if (placement.tx != GpuAttention::kPair)
    return func.emitOpError() << "expected " << GpuAttention::kPair
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
    : e(emitter), builder(emitter.builder), loc(emitter.loc), keys(productOf<ContractOp>(func)),
      values(productOf<kernel::ContractRowsOp>(func)), shape(*emitter.placement.matrix),
      unit(emitter, shape), chunk(keys.getType().getDimSize(1)),
      valueColumns(values.getType().getDimSize(1)) {
  features = cast<kernel::ViewType>(keys.getLhs().getType()).getDims().back().extent.value;
  teamRows = e.placement.subgroup / kPair * e.placement.rows;
  down = teamRows / shape.m;
  constexpr int64_t most = 64; // features up to which registers hold queries
  part = std::max(features, valueColumns) > most ? chunk / 2 : chunk;
  const int64_t rows = keys.getType().getDimSize(0),
                pitch = pitchOf(std::max(features, valueColumns));
  queries = array = {kVec4, std::max(rows, part) * pitch};
  if (isWide()) {
    array.entries = part * pitch;
    queries = {kVec4, rows * pitchOf(features), SharedArray::Left};
  }
  for (Operation *op = keys; op; op = op->getParentOp())
    if (auto around = dyn_cast<scf::ForOp>(op))
      loop = around; // the outermost
  findMatrices();
  if (isBf16())
    rounding = values.getLhs().getDefiningOp<arith::TruncFOp>();
  else
    findScaling();
}

void GpuAttention::findScaling() {
  DenseElementsAttr factor;
  if (keys->hasOneUse())
    if (auto user = dyn_cast<arith::MulFOp>(*keys->user_begin());
        user && matchPattern(user.getRhs(), m_Constant(&factor)) && factor.isSplat())
      scaling = user;
}

/// Collects the tiles that depend on the product with values, and the one that the loop carries.
void GpuAttention::findMatrices() {
  for (auto [i, init] : llvm::enumerate(loop.getInitArgs()))
    if (auto tile = dyn_cast<RankedTensorType>(init.getType()); tile && tile.getDimSize(1) > 1) {
      carriedTile = i;
      for (Value same : {init, Value(loop.getRegionIterArg(i)), Value(loop.getResult(i))})
        matrices.insert(same);
    }
  matrices.insert(values.getResult());
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

//===- Matrices -----------------------------------------------------------===//

GpuAttention::Registers GpuAttention::makeVariables() {
  Registers variables;
  for (int64_t i = 0; i < down * valueColumns / shape.n; ++i)
    variables.push_back(unit.variable(unit.type(Use::MatrixAcc)));
  return variables;
}

//===- Workgroup memory ---------------------------------------------------===//

Value GpuAttention::tileAt(Value quad, Value lane) {
  return e.entry.shared(SharedArray::Matrices, e.vec4Type(), array.entries, quad, lane);
}

Value GpuAttention::stripAt(Value quad, Value lane) {
  const int64_t rows = keys.getType().getDimSize(0);
  return e.entry.shared(SharedArray::Tile, e.vec4Type(), rows * stripPitch(), quad, lane);
}

/// The array has two factors for each row: one of the chunk's sums, and one of the sums so far.
Value GpuAttention::factorAt(Value row) {
  return e.entry.shared(SharedArray::Sums, builder.getF32Type(), 2 * keys.getType().getDimSize(0),
                        row);
}

Value GpuAttention::stripQuad(int64_t row, int64_t vector) {
  return e.add(ownStrip, e.constant(row * stripPitch() + e.vectorColumn(vector, chunk) / kVec4));
}

void GpuAttention::placeRows() {
  firstOfTeam = e.mul(e.subgroup, teamRows);
  teamStrip = e.mul(firstOfTeam, stripPitch());
  Value own = e.mul(e.rowBase(), stripPitch());
  ownStrip = e.add(own, e.memory.quarter(e.columnBase(chunk)));
  ownWeights = e.add(own, e.tx);
}

//===- Reductions ---------------------------------------------------------===//

/// Reduces rows by lanes, in their fixed order. Each invocation of a pair reduces each of its eight
/// lanes in ascending columns. The lanes of both invocations are then combined.
FailureOr<Fragment> GpuAttention::emitReduce(kernel::ReduceOp op) {
  FailureOr<Fragment> tile = e.use(op.getOperand());
  if (failed(tile))
    return failure();
  const ReduceKind kind = op.getKind();
  auto subgroup = spirv::ScopeAttr::get(builder.getContext(), spirv::Scope::Subgroup);
  auto other = [&](Value x) -> Value {
    return spirv::GroupNonUniformShuffleXorOp::create(builder, loc, x.getType(), subgroup, x,
                                                      e.constant(1));
  };
  Fragment result{{}, tile->rows, 0};
  for (int64_t row = 0; row < tile->rows; ++row) {
    Value low, high;
    for (int64_t j = 0; j < tile->vectors; ++j) {
      Value &lanes = j % 2 ? high : low;
      lanes = lanes ? e.combine(kind, lanes, tile->at(row, j)) : tile->at(row, j);
    }
    if (kind == ReduceKind::Max) {
      Value own = e.reduceLanes(kind, {e.combine(kind, low, high)});
      result.registers.push_back(e.combine(kind, own, other(own)));
      continue;
    }
    for (Value *lanes : {&low, &high}) {
      Registers words;
      for (int64_t lane = 0; lane < kVec4; ++lane)
        words.push_back(other(vector::ExtractOp::create(builder, loc, *lanes, lane)));
      *lanes = e.combine(kind, *lanes,
                         vector::FromElementsOp::create(builder, loc, e.vec4Type(), words));
    }
    result.registers.push_back(e.reduceLanes(kind, {e.combine(kind, low, high)}));
  }
  return result;
}

//===- Sums of weighted values --------------------------------------------===//

/// Returns the numbers of rows that a tile broadcasts. Fails if the tile is no broadcast of them.
FailureOr<Fragment> GpuAttention::numbersOf(Value tile) {
  auto broadcast = tile.getDefiningOp<BroadcastOp>();
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
  const int64_t start = slot * keys.getType().getDimSize(0);
  for (int64_t row = 0; row < numbers.rows; ++row)
    spirv::StoreOp::create(builder, loc, factorAt(e.add(e.rowBase(), e.constant(start + row))),
                           numbers.at(row, 0));
  e.entry.meetSubgroup();
  Registers result;
  for (int64_t i = 0; i < down; ++i)
    result.push_back(load(Use::MatrixAcc,
                          factorAt(e.add(firstOfTeam, e.constant(start + i * shape.m))), 0,
                          Layout::ColumnMajor));
  return result;
}

LogicalResult GpuAttention::emitElementwise(Operation &op) {
  loc = op.getLoc();
  if (isElsewhere(op)) {
    Fragment same = e.fragments[op.getOperand(0)]; // a copy: a new entry may move the others
    e.fragments[op.getResult(0)] = std::move(same);
    return success();
  }
  Fragment result{{}, down, valueColumns / shape.n};
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
LogicalResult GpuAttention::carry(Value tile) {
  auto found = e.fragments.find(tile);
  const bool isMatrix =
      found != e.fragments.end() &&
      isa<spirv::CooperativeMatrixType>(found->second.registers.front().getType());
  if (!isMatrix && !matchPattern(tile, m_AnyZeroFloat()))
    return emitError(tile.getLoc(), "expected sums of weighted values that begin as zero");
  for (auto [i, variable] : llvm::enumerate(sums))
    spirv::StoreOp::create(builder, loc, variable,
                           isMatrix ? found->second.registers[i] : zeroSum());
  return success();
}

void GpuAttention::carried(Value tile) {
  Fragment fragment{{}, down, valueColumns / shape.n};
  for (Value variable : sums)
    fragment.registers.push_back(spirv::LoadOp::create(builder, loc, variable));
  e.fragments[tile] = std::move(fragment);
}

void GpuAttention::overParts(int64_t most, function_ref<void(int64_t, int64_t)> body) {
  for (int64_t first = 0; first < valueColumns; first += most)
    body(first, std::min(most, valueColumns - first));
}

void GpuAttention::overMatrices(int64_t first, int64_t columns, int64_t behind,
                                function_ref<void(int64_t, Value)> body) {
  for (int64_t i = 0; i < down; ++i)
    for (int64_t column = 0; column < columns; column += shape.n)
      body((i * valueColumns + first + column) / shape.n,
           stripAt(teamQuad(i * shape.m, behind + column / kVec4)));
}

/// Moves the sums through the strip and returns this invocation's elements of its rows.
GpuAttention::Registers GpuAttention::readSums(ArrayRef<Value> all) {
  const int64_t vectors = e.fragmentVectors(valueColumns);
  Registers own(e.placement.rows * vectors);
  overParts(chunk, [&](int64_t first, int64_t columns) {
    e.workgroup.barrier();
    overMatrices(first, columns, /*behind=*/0, [&](int64_t number, Value place) {
      unit.store(all[number], place, stripPitch());
    });
    e.workgroup.barrier();
    const int64_t part = e.fragmentVectors(columns), before = e.fragmentVectors(first);
    for (auto [i, quad] : llvm::enumerate(readStrip(columns)))
      own[static_cast<int64_t>(i) / part * vectors + before + static_cast<int64_t>(i) % part] =
          quad;
  });
  return own;
}

//===- The loop -----------------------------------------------------------===//

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
  again = e.compare(arith::CmpIPredicate::ne, pass, e.constant(0));
  if (failed(e.emitLoop(loop)))
    return failure();
  hoistInvariants();
  Value tile = loop.getResult(carriedTile);
  Fragment own = e.shapeOf(tile.getType());
  own.registers = readSums(e.fragments[tile].registers);
  e.fragments[tile] = own;
  for (Value result : loop.getResults())
    llvm::append_range(results, e.fragments[result].registers);
  results.push_back(isAnywhere(isAnyNotFinite(e, own.registers)));
  return success();
}

/// for pass in 0 to 2: if pass is 0 or a sum is not finite { results = the loop }
LogicalResult GpuAttention::emitLoop() {
  loc = e.loc;
  sums = makeVariables();
  placeRows();
  placeCopies();
  stageQueries();
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
    builder.getInsertionBlock()->getParentOp()->setAttr(kRolled, builder.getUnitAttr());
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
