//===- TileRelayout.cpp - Copies of heads ---------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies that copy heads: splits and merges that no other kernel computes, stores to states, and
// keys in panels.

#include "Tilers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::LoadOp;
using kernel::Size;

/// Copies a vector, a tile of elements per workgroup: lengths that a session keeps.
static LogicalResult copyVector(KernelBuilder &f) {
  TileBuilder &t = f.t;
  kernel::ViewType type = f.viewType(0);
  const int64_t rows = f.plan.getRows();
  f.createFunc({type.getDim(0).extent}, {rows});
  Value i = f.func.getGridIndex(0);
  Value tile = LoadOp::create(t.b, t.loc, t.type(rows, 1, type.getElementType()), f.view(0),
                              ValueRange{i}, t.b.getUnitAttr());
  kernel::StoreVectorOp::create(t.b, t.loc, tile, f.view(f.firstResult()), i,
                                t.sub(f.sizeValue(type.getDim(0).extent), i));
  return success();
}

/// Packs the keys of packed documents into panels that restart at each document.
static LogicalResult packDocuments(KernelBuilder &f) {
  TileBuilder &t = f.t;
  const int64_t rows = f.plan.getRows(); // a panel
  kernel::ViewType out = f.viewType(f.firstResult());
  int64_t stored = padded(out.getDims().back().extent.value);
  f.createFunc({out.getDim(0).extent, out.getDim(1).extent, out.getDim(2).pitch}, {1, 1, rows});
  Value b = f.func.getGridIndex(0), h = f.func.getGridIndex(1), panelRow = f.func.getGridIndex(2),
        starts = f.view(1);
  Value one = t.index(1), zero = t.index(0), size = t.index(rows);
  Value count = t.sub(f.sizeValue(f.viewType(1).getDim(0).extent), one),
        panel = t.div(panelRow, size);
  DocumentTile found = findDocument(t, starts, count, panel, rows);
  auto start = [&](Value d) {
    return t.toIndex(kernel::ReadOp::create(t.b, t.loc, starts, ValueRange{d}));
  };
  Value row = t.add(start(found.document), t.mul(t.sub(panel, found.first), size));
  Value left = t.sub(start(t.add(found.document, one)), row);
  Value tile = LoadOp::create(t.b, t.loc, t.type(rows, stored, out.getElementType()),
                              f.slice(f.view(0), {b, h}), ValueRange{row, zero}, UnitAttr());
  kernel::StoreOp::create(t.b, t.loc, tile, f.view(f.firstResult()),
                          ValueRange{b, h, panelRow, zero}, left);
  return success();
}

/// Loads a head that begins inside a vector, element by element. Its padding is looked up out of
/// bounds, which returns 0.
static Value unalignedHead(TileBuilder &t, Value rows, Value row, Value column, int64_t size,
                           RankedTensorType type) {
  RankedTensorType indices = t.type(type.getDimSize(0), type.getDimSize(1), t.b.getI32Type());
  Value inHead = t.iota(/*rows=*/false, t.index(0), indices);
  Value x = t.select(t.less(inHead, t.constantI(size, inHead)),
                     t.iota(/*rows=*/false, column, indices), t.constantI(-1, inHead));
  return kernel::LookupOp::create(t.b, t.loc, type, rows,
                                  ValueRange{t.iota(/*rows=*/true, row, indices), x});
}

/// Merges heads that begin inside vectors, 16 columns at a time: each element is looked up in its
/// head.
static LogicalResult mergeUnalignedHeads(KernelBuilder &f) {
  TileBuilder &t = f.t;
  kernel::ViewType in = f.viewType(0);
  int64_t size = in.getDims().back().extent.value, heads = in.getDim(1).extent.value,
          rows = f.plan.getRows(), columns = f.plan.getColumns()[0];
  f.createFunc({in.getDim(0).extent, in.getDim(2).extent, padded(heads * size)},
               {1, rows, columns});
  Value b = f.func.getGridIndex(0), i = f.func.getGridIndex(1), j = f.func.getGridIndex(2);
  RankedTensorType indices = t.type(rows, columns, t.b.getI32Type());
  Value y = t.iota(/*rows=*/true, i, indices);
  Value one = t.index(1), first = t.div(j, t.index(size)),
        end =
            t.min(t.add(t.div(t.add(j, t.index(columns - 1)), t.index(size)), one), t.index(heads));
  RankedTensorType type = t.type(rows, columns);
  Value tile = t.sum(first, end, type, [&](Value head) -> Value {
    // Columns of other heads are out of bounds in this head, and result in 0.
    Value inHead = t.iota(/*rows=*/false, t.sub(j, t.mul(head, t.index(size))), indices);
    return kernel::LookupOp::create(t.b, t.loc, type, f.slice(f.view(0), {b, head}),
                                    ValueRange{y, inHead});
  });
  storeResults(f, tile, {b, i, j}, t.sub(f.sizeValue(in.getDim(2).extent), i));
  return success();
}

/// Merges heads of a multiple of 4 columns on a CPU: a tile has the rows of one head.
static LogicalResult mergeHeadColumns(KernelBuilder &f) {
  TileBuilder &t = f.t;
  kernel::ViewType in = f.viewType(0);
  const int64_t size = in.getDims().back().extent.value, rows = f.plan.getRows();
  f.createFunc({in.getDim(0).extent, in.getDim(1).extent, in.getDim(2).extent}, {1, 1, rows});
  Value b = f.func.getGridIndex(0), h = f.func.getGridIndex(1), i = f.func.getGridIndex(2);
  Value tile = LoadOp::create(t.b, t.loc, t.type(rows, padded(size)), f.slice(f.view(0), {b, h}),
                              ValueRange{i, t.index(0)}, UnitAttr());
  Value left = t.sub(f.sizeValue(in.getDim(2).extent), i);
  SmallVector<Value> indices{b, i, t.mul(h, t.index(size))};
  for (unsigned result = 0; result < f.def.getNumResults(); ++result) {
    const unsigned view = f.firstResult() + result;
    kernel::StoreColumnsOp::create(t.b, t.loc, t.narrow(tile, f.viewType(view).getElementType()),
                                   f.view(view), indices, left, size);
  }
  return success();
}

/// Copies `[B, H, T, D]` by (b, h, rows): splits or merges heads, or packs keys in panels.
LogicalResult heddle::tileRelayout(KernelBuilder &f) {
  TileBuilder &t = f.t;
  Value value = yielded(f);
  Operation *op = value.getDefiningOp();
  if (f.def.packsDocuments())
    return packDocuments(f);
  bool split = isa_and_nonnull<SplitHeadsOp>(op), merge = isa_and_nonnull<MergeHeadsOp>(op);
  kernel::ViewType in = f.viewType(0), out = f.viewType(f.firstResult()), heads = merge ? in : out;
  if (heads.getRank() == 1)
    return copyVector(f);
  if (heads.getRank() != 4)
    return f.def.emitOpError() << "expected heads of rank 4, found rank " << heads.getRank();
  int64_t size = heads.getDims().back().extent.value, stored = padded(size),
          rows = f.plan.getRows();
  if (merge && size != stored && in.getDim(1).extent.value > 1)
    return size % 4 == 0 && kernel::isOfCpu(f.plan.getMapping()) ? mergeHeadColumns(f)
                                                                 : mergeUnalignedHeads(f);
  Size extent = split ? in.getDim(1).extent : in.getDim(2).extent;
  f.createFunc({heads.getDim(0).extent, heads.getDim(1).extent, extent}, {1, 1, rows});
  Value b = f.func.getGridIndex(0), h = f.func.getGridIndex(1), i = f.func.getGridIndex(2),
        zero = t.index(0);
  Value column = t.mul(h, t.index(stored));
  Value source = split ? f.slice(f.view(0), {b}) : f.slice(f.view(0), {b, h});
  RankedTensorType type = t.type(rows, stored, in.getElementType());
  Value tile = split && size != stored
                   ? unalignedHead(t, source, i, t.mul(h, t.index(size)), size, type)
                   : LoadOp::create(t.b, t.loc, type, source, ValueRange{i, split ? column : zero},
                                    UnitAttr());
  for (unsigned result = 0; result < f.def.getNumResults(); ++result) {
    Value view = f.view(f.firstResult() + result), left = t.sub(f.sizeValue(extent), i);
    Value row = f.placeOf(result, b, i, left);
    SmallVector<Value> indices =
        merge ? SmallVector<Value>{b, row, column} : SmallVector<Value>{b, h, row, zero};
    Type element = cast<kernel::ViewType>(view.getType()).getElementType();
    kernel::StoreOp::create(t.b, t.loc, t.narrow(tile, element), view, indices, left,
                            f.ringOf(result));
  }
  return success();
}
