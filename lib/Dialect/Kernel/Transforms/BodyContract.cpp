//===- BodyContract.cpp - Contractions and row reductions -*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inner loop of every product, and the fixed order of sums over a row.
//
//   contract   scf.for k step 4 iter_args(rows x vectors accumulators): one
//              rank-1 update a k, each element one ascending chain
//   reduce     registers of a row are combined lane by lane, ascending, then the
//              lanes in one tree: l and l + 8, l and l + 4, ...
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

SmallVector<Place> BodyEmitter::rightPlaces(ContractOp op, const Fragment &shape,
                                            int64_t &stepElements) {
  const BoundView &right = view(op.getRhs());
  int64_t columns = columnsOf(op.getType());
  int64_t stored = padded(right.type.getDims().back().pitch.value);
  Value index = scalar(op.getRhsIndex()), base = columnBase(columns);
  SmallVector<Place> result;
  if (op.getRows()) {
    stepElements = stored;
    Place start = moved(moved({right.offset, 0}, mul(index, stored)), base);
    for (int64_t j = 0; j < shape.vectors; ++j)
      result.push_back(moved(start, Value(), vectorColumn(j, columns)));
    return result;
  }
  // Column c of the result is row c of the view: panel c / 16, place c % 16, in words. Fragments
  // begin at multiples of 16.
  int64_t panel = right.type.getPanel(), word = perWord(right);
  stepElements = panel * word;
  Place start = moved({right.offset, 0}, mul(add(index, base), stored));
  for (int64_t j = 0; j < shape.vectors; ++j) {
    int64_t column = vectorColumn(j, columns);
    result.push_back(
        moved(start, Value(), column / panel * panel * stored + column % panel * word));
  }
  return result;
}

SmallVector<Value> BodyEmitter::emitChain(const Fragment &shape, SmallVector<Value> accumulators,
                                          Value from, Value to, const Operands &operands,
                                          int64_t unroll) {
  auto vectorOf = [&](Value value) {
    return isa<VectorType>(value.getType()) ? value.getType()
                                            : Type(VectorType::get({width}, value.getType()));
  };
  auto step = [&](Value k, int64_t unrolled, SmallVector<Value> &sums) {
    SmallVector<Value> right;
    for (int64_t j = 0; j < shape.vectors; ++j)
      right.push_back(operands.right(k, j, unrolled));
    for (int64_t row = 0; row < shape.rows; ++row) {
      Value left = operands.left(k, row, unrolled);
      left = splat(left, vectorOf(left));
      bool areWords = getElementTypeOrSelf(left.getType()).isInteger();
      for (int64_t j = 0; j < shape.vectors; ++j) {
        Value &sum = sums[row * shape.vectors + j];
        bool isExact = getElementTypeOrSelf(sum.getType()).isInteger();
        sum = isExact    ? multiplyAddQuad(left, right[j], sum)
              : areWords ? multiplyAddPair(left, right[j], sum)
                         : multiplyAdd(left, right[j], sum);
      }
    }
  };
  auto loop = [&](Value begin, Value end, int64_t steps) {
    auto loopOp = scf::ForOp::create(builder, loc, begin, end, constant(steps), accumulators);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loopOp.getBody());
    SmallVector<Value> sums(loopOp.getRegionIterArgs());
    if (operands.atStep && steps > operands.grain)
      operands.atStep(loopOp.getInductionVar());
    for (int64_t u = 0; u < steps; ++u)
      step(loopOp.getInductionVar(), u, sums);
    scf::YieldOp::create(builder, loc, sums);
    accumulators.assign(loopOp.result_begin(), loopOp.result_end());
  };
  // Whole steps of four or so, then what is left one by one, with the same code for a k.
  std::optional<int64_t> first = constantOf(from), end = constantOf(to);
  if (first && end) {
    int64_t whole = *first + (*end - *first) / unroll * unroll;
    if (whole > *first)
      loop(constant(*first), constant(whole), unroll);
    for (int64_t k = whole; k < *end; k += operands.grain)
      for (int64_t u = 0; u < operands.grain; ++u)
        step(constant(k), u, accumulators);
    return accumulators;
  }
  Value count = sub(to, from);
  Value whole = add(from, arith::AndIOp::create(builder, loc, count, constant(-unroll)));
  loop(from ? from : constant(0), whole, unroll);
  loop(whole, to, operands.grain);
  return accumulators;
}

Value BodyEmitter::combine(ReduceKind kind, Value a, Value b) {
  return kind == ReduceKind::Max ? larger(a, b)
                                 : arith::AddFOp::create(builder, loc, a, b).getResult();
}

Value BodyEmitter::reduceLanes(ReduceKind kind, SmallVector<Value> groups) {
  // Lanes l and l + 8, then l and l + 4, ...: between registers first, then inside the one that is
  // left.
  for (size_t half = groups.size() / 2; half >= 1; half /= 2) {
    for (size_t i = 0; i < half; ++i)
      groups[i] = combine(kind, groups[i], groups[i + half]);
    groups.resize(half);
  }
  Value lanes = groups.front();
  for (int64_t half = width / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low = llvm::to_vector(llvm::seq<int64_t>(half));
    SmallVector<int64_t> high = llvm::to_vector(llvm::seq<int64_t>(half, 2 * half));
    Value lower = vector::ShuffleOp::create(builder, loc, lanes, lanes, low);
    Value upper = vector::ShuffleOp::create(builder, loc, lanes, lanes, high);
    lanes = combine(kind, lower, upper);
  }
  return vector::ExtractOp::create(builder, loc, lanes, 0);
}

void BodyEmitter::accumulateLanes(ReduceKind kind, const Fragment &from, int64_t row,
                                  MutableArrayRef<Value> groups) {
  for (int64_t j = 0; j < from.vectors; ++j) {
    Value &group = groups[j % groups.size()];
    group = group ? combine(kind, group, from.at(row, j)) : from.at(row, j);
  }
}

LogicalResult BodyEmitter::emitReduce(ReduceOp op) {
  FailureOr<Fragment> from = use(op.getOperand());
  if (failed(from))
    return failure();
  Fragment result = shapeOf(op.getType());
  for (int64_t row = 0; row < result.rows; ++row) {
    if (!from->vectors) {
      result.registers.push_back(from->at(row, 0));
      continue;
    }
    SmallVector<Value> groups(laneGroups());
    accumulateLanes(op.getKind(), *from, row, groups);
    result.registers.push_back(reduceLanes(op.getKind(), groups));
  }
  fragments[op.getResult()] = std::move(result);
  return success();
}
