//===- CommonRows.cpp - Products over the rows of two views ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products over the rows that two views have in common. A row of the left view has the scalars of a
// step, one for each row of the tile, and a row of the right view its vec4s. An invocation continues
// the chains of its elements, with rows ascending.

#include "../GpuEmitter.h"

#include "heddle/Support/Program.h"

using namespace mlir;
using heddle::kernel::Address;
using heddle::kernel::BoundView;
using heddle::kernel::ContractCommonOp;
using heddle::kernel::Fragment;

namespace heddle {

/// Address of a column in the first row of the product. `start` is the column of the tile; null: 0.
static Address startOf(GpuEmitter &e, const BoundView &view, Value row, Value start) {
  return {e.add(e.add(view.offset, e.mul(e.scalar(row), *view.type.getRowPitch())), start), 0};
}

LogicalResult emitCommonRows(GpuEmitter &e, ContractCommonOp op) {
  FailureOr<Fragment> initial = e.use(op.getInit());
  if (failed(initial))
    return failure();
  const Fragment shape = *initial;
  if (!shape.vectors || shape.rows % e.width != 0)
    return op.emitOpError("expected fragments of vec4s and of four rows, found ") << op.getType();
  const BoundView &left = e.view(op.getLhs()), &right = e.view(op.getRhs());
  // Rows of the tile after the last feature are not stored, and read the last four.
  const int64_t features = padded(left.type.getDim(1).extent.value),
                columns = GpuEmitter::columnsOf(op.getType());
  SmallVector<Address> scalars;
  for (int64_t row = 0; row < shape.rows; row += e.width) {
    Value feature = e.add(e.add(e.scalar(op.getLhsColumn()), e.rowBase()), e.constant(row));
    scalars.push_back(
        startOf(e, left, op.getLhsIndex(), e.minimum(feature, e.constant(features - e.width))));
  }
  const Address lanes = startOf(e, right, op.getRhsIndex(),
                                e.add(e.scalar(op.getRhsColumn()), e.columnBase(columns)));
  SmallVector<Value> sums(shape.registers);
  e.loopOver(e.constant(0), e.scalar(op.getRows()), 1, sums, [&](Value k) {
    SmallVector<Value> b;
    Value across = e.mul(k, *right.type.getRowPitch()), down = e.mul(k, *left.type.getRowPitch());
    for (int64_t j = 0; j < shape.vectors; ++j)
      b.push_back(e.loadVector(
          right, e.moved(e.moved(lanes, across), Value(), e.vectorColumn(j, columns))));
    SmallVector<Value> a;
    for (const Address &start : scalars) {
      Value four = e.loadVector(left, e.moved(start, down));
      for (int64_t lane = 0; lane < e.width; ++lane)
        a.push_back(e.splat(e.extract(four, lane), four.getType()));
    }
    for (int64_t row = 0; row < shape.rows; ++row)
      for (int64_t j = 0; j < shape.vectors; ++j) {
        Value &sum = sums[row * shape.vectors + j];
        sum = e.fma(a[row], b[j], sum);
      }
  });
  e.fragments[op.getResult()] = {std::move(sums), shape.rows, shape.vectors};
  return success();
}

} // namespace heddle
