//===- GpuWorkgroup.cpp - Workgroup memory and barriers -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Staged tiles are row-major, in vec4s of four columns. If each invocation has whole
// rows, it stages them for itself, and vec4s of neighboring rows are adjacent.
#include "GpuEmitter.h"

using namespace mlir;
using heddle::kernel::Fragment;

namespace heddle {

void GpuWorkgroup::barrier() {
  e.entry.barrier();
  barrierIn = e.builder.getInsertionBlock();
  readSince.clear();
}

void GpuWorkgroup::beforeWrite(SharedArray array) {
  if (barrierIn != e.builder.getInsertionBlock() || readSince.count(array))
    barrier();
}

Value GpuWorkgroup::inBuffer(Value place, int64_t entries) {
  return buffer ? e.add(place, e.constant(buffer * entries)) : place;
}

Value GpuWorkgroup::entryOf(SharedArray array, Type element, int64_t entries, Value index,
                            Value lane) {
  if (!llvm::is_contained({SharedArray::Left, SharedArray::Right, SharedArray::Scales}, array))
    return e.entry.shared(array, element, entries, index, lane);
  return e.entry.shared(array, element, entries * e.placement.buffers, inBuffer(index, entries),
                        lane);
}

void GpuWorkgroup::write(SharedArray array, Type element, int64_t entries, Value index, Value value,
                         Value lane) {
  e.store(entryOf(array, element, entries, index, lane), value);
}

Value GpuWorkgroup::read(SharedArray array, Type element, int64_t entries, Value index,
                         Value lane) {
  readSince.insert(array);
  return e.load(entryOf(array, element, entries, index, lane));
}

LogicalResult GpuWorkgroup::stage(Value tile) {
  if (stagedTile == tile && stagedIn == e.builder.getInsertionBlock())
    return success();
  FailureOr<Fragment> fragment = e.use(tile);
  if (failed(fragment))
    return fragment;
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t vec4s = type.getDimSize(1) / e.width;
  if (e.mapping->exchangesTiles())
    beforeWrite(SharedArray::Tile);
  Value column = e.memory.quarter(e.columnBase(type.getDimSize(1)));
  e.onlyIf(e.mapping->owns(type), [&] {
    for (int64_t row = 0; row < fragment->rows; ++row)
      for (int64_t j = 0; j < fragment->vectors; ++j) {
        Value index =
            e.mapping->stagedPlace(vec4s, e.add(e.mapping->stagedRow(), e.constant(row)),
                                   e.add(column, e.constant(e.mapping->columnOf(j) / e.width)));
        write(SharedArray::Tile, e.vec4Type(), e.mapping->stagedRows() * vec4s, index,
              fragment->at(row, j));
      }
  });
  if (e.mapping->exchangesTiles())
    barrier();
  stagedTile = tile;
  stagedIn = e.builder.getInsertionBlock();
  return success();
}

Value GpuWorkgroup::stagedVec4(int64_t tileColumns, Value row, Value vec4Column) {
  int64_t vec4s = tileColumns / e.width;
  return read(SharedArray::Tile, e.vec4Type(), e.mapping->stagedRows() * vec4s,
              e.mapping->stagedPlace(vec4s, row, vec4Column));
}

} // namespace heddle
