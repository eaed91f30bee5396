//===- WideRows.cpp - Many invocations for each row -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mapping `wide_rows` of norms and codes of rows. 32 to 256 invocations share a row, with two or
// three vec4s each. They hold the row in registers, so it is loaded once and all loads are in flight
// together. A sum writes the row to workgroup memory. Four invocations then add its columns in
// ascending order, each in four of the sum's sixteen lanes. This is the order of `strided`.

#include "GpuMapping.h"

#include "../GpuEmitter.h"
#include "../GpuLoops.h"

using namespace mlir;
using heddle::kernel::Fragment;
using heddle::kernel::ReduceKind;

namespace heddle {

namespace {
class WideRows : public GpuMapping {
public:
  using GpuMapping::GpuMapping;

  int64_t vectorsOf(int64_t tileColumns) const override {
    return tileColumns / (e.width * e.placement.tx);
  }
  int64_t columnOf(int64_t number) const override { return number * e.width * e.placement.tx; }
  Value firstColumn(int64_t) override { return e.add(e.mul(e.tx, e.width), e.at.elementColumn); }
  bool loopsOverElements() const override { return false; }

protected:
  int64_t activeColumns(int64_t) const override { return e.placement.tx; }
  Fragment maximaOfRows(const Fragment &tile) override;
  Fragment sumsOfStagedRows(RankedTensorType type) override;

private:
  Value lanesOfStagedRow(int64_t columns);
};
} // namespace

/// Each group of four invocations combines its columns; all then read the maxima of their row's
/// groups, four at a time.
Fragment WideRows::maximaOfRows(const Fragment &tile) {
  const int64_t groups = e.placement.tx / kLaneVectors, entries = groups / e.width;
  auto place = [&](Value entry) { return e.add(e.mul(e.ty, entries), entry); };
  Value largest = lowestLanes(e);
  for (Value own : tile.registers)
    largest = e.combine(ReduceKind::Max, largest, own);
  Value number = e.reduceLanes(ReduceKind::Max, {exchangedLanes(e, ReduceKind::Max, largest)});
  e.workgroup.beforeWrite(SharedArray::Maxima);
  Value group = e.quotient(e.tx, kLaneVectors);
  e.workgroup.write(SharedArray::Maxima, e.vec4Type(), e.placement.ty * entries,
                    place(e.quotient(group, e.width)), number, e.masked(group, e.width - 1));
  e.workgroup.barrier();
  Value all;
  for (int64_t entry = 0; entry < entries; ++entry) {
    Value next = e.workgroup.read(SharedArray::Maxima, e.vec4Type(), e.placement.ty * entries,
                                  place(e.constant(entry)));
    all = all ? e.combine(ReduceKind::Max, all, next) : next;
  }
  return {{e.reduceLanes(ReduceKind::Max, {all})}, 1, 0};
}

/// The lanes of one of a row's first four invocations. Several vec4s are read before the first is
/// added, because each addition waits for the one before.
Value WideRows::lanesOfStagedRow(int64_t columns) {
  const int64_t steps = columns / (kLaneVectors * e.width);
  int64_t ahead = 8;
  while (steps % ahead != 0)
    ahead /= 2;
  SmallVector<Value> lanes{zeroLanes(e)};
  e.loopOver(e.constant(0), e.constant(steps), ahead, lanes, [&](Value step) {
    e.markLoop(kRolled);
    Value first = e.add(e.mul(step, kLaneVectors), e.tx);
    SmallVector<Value> read;
    for (int64_t i = 0; i < ahead; ++i)
      read.push_back(
          e.workgroup.stagedVec4(columns, e.ty, e.add(first, e.constant(i * kLaneVectors))));
    for (Value next : read)
      lanes.front() = e.combine(ReduceKind::Add, lanes.front(), next);
  });
  return lanes.front();
}

Fragment WideRows::sumsOfStagedRows(RankedTensorType type) {
  Type f32 = builder.getF32Type();
  const int64_t rows = e.placement.ty;
  e.workgroup.beforeWrite(SharedArray::Sums);
  e.onlyIf(e.less(e.tx, e.constant(kLaneVectors)), [&] {
    Value lanes = exchangedLanes(e, ReduceKind::Add, lanesOfStagedRow(type.getDimSize(1)));
    Value sum = e.reduceLanes(ReduceKind::Add, {lanes});
    e.onlyIf(e.compare(arith::CmpIPredicate::eq, e.tx, e.constant(0)),
             [&] { e.workgroup.write(SharedArray::Sums, f32, rows, e.ty, sum); });
  });
  e.workgroup.barrier();
  return {{e.workgroup.read(SharedArray::Sums, f32, rows, e.ty)}, 1, 0};
}

std::unique_ptr<GpuMapping> makeWideRows(GpuEmitter &emitter) {
  return std::make_unique<WideRows>(emitter);
}

} // namespace heddle
