//===- BodyContract.cpp - Addresses of products, row reductions -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits addresses of the right operand of a product, and row reductions in a
// fixed order. The registers of a row are combined lane by lane, in ascending
// order, then the lanes by one tree (l and l + 8, l and l + 4, ...).

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

SmallVector<Address> BodyEmitter::rightPlaces(ProductOpInterface op, const Fragment &shape,
                                              int64_t &stepElements) {
  const BoundView &right = view(op.getRhs());
  int64_t columns = columnsOf(op.getType());
  int64_t stored = padded(right.type.getDims().back().pitch.value);
  Value index = scalar(op.getRhsIndex()), base = columnBase(columns);
  SmallVector<Address> result;
  if (op.isOverRows()) {
    stepElements = stored;
    if (Value column = op.getRhsColumn())
      base = add(scalar(column), base);
    Address start = moved(moved({right.offset, 0}, mul(index, stored)), base);
    for (int64_t j = 0; j < shape.vectors; ++j)
      result.push_back(moved(start, Value(), vectorColumn(j, columns)));
    return result;
  }
  // Column c of the result is row c of the view, which is at panel c / 16, position c % 16, in
  // words. Fragments begin at multiples of 16.
  int64_t panel = right.type.getPanel(), word = perWord(right);
  stepElements = panel * word;
  Address start = moved({right.offset, 0}, mul(add(index, base), stored));
  for (int64_t j = 0; j < shape.vectors; ++j) {
    int64_t column = vectorColumn(j, columns);
    result.push_back(
        moved(start, Value(), column / panel * panel * stored + column % panel * word));
  }
  return result;
}

Value BodyEmitter::combine(ReduceKind kind, Value a, Value b) {
  return kind == ReduceKind::Max ? larger(a, b)
                                 : arith::AddFOp::create(builder, loc, a, b).getResult();
}

Value BodyEmitter::reduceLanes(ReduceKind kind, SmallVector<Value> groups) {
  // Lanes l and l + 8, then l and l + 4, ...: first between registers, then within the last
  // register.
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
