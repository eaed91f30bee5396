//===- GpuWorkgroup.cpp - Workgroup memory and barriers -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GpuWorkgroup.h. Staged tiles are row-major, in vec4s of four columns. Where
// each invocation has a row by itself, it stages the row for itself, and vec4s
// of neighbouring rows lie side by side.
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

void GpuWorkgroup::write(SharedArray array, Type element, int64_t entries, Value index, Value value,
                         Value lane) {
  spirv::StoreOp::create(e.builder, e.loc, e.entry.shared(array, element, entries, index, lane),
                         value);
}

Value GpuWorkgroup::read(SharedArray array, Type element, int64_t entries, Value index,
                         Value lane) {
  readSince.insert(array);
  return spirv::LoadOp::create(e.builder, e.loc,
                               e.entry.shared(array, element, entries, index, lane));
}

/// The place of four columns of a row in the staged tile.
Value GpuWorkgroup::stagedPlace(int64_t vec4s, Value row, Value column) {
  if (e.ownsRows())
    return e.add(e.mul(column, e.placement.ty), row);
  return e.add(e.mul(row, vec4s), column);
}

LogicalResult GpuWorkgroup::stage(Value tile) {
  if (stagedTile == tile && stagedIn == e.builder.getInsertionBlock())
    return success();
  FailureOr<Fragment> fragment = e.use(tile);
  if (failed(fragment))
    return fragment;
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t vec4s = type.getDimSize(1) / e.width;
  if (!e.ownsRows())
    beforeWrite(SharedArray::Tile);
  Value column = e.quarter(e.columnBase(type.getDimSize(1)));
  e.onlyIf(e.owns(type), [&] {
    for (int64_t row = 0; row < fragment->rows; ++row)
      for (int64_t j = 0; j < fragment->vectors; ++j) {
        Value index =
            stagedPlace(vec4s, e.add(e.stagedRow(), e.constant(row)), e.add(column, e.constant(j)));
        write(SharedArray::Tile, e.vec4Type(), e.placement.teams * type.getDimSize(0) * vec4s,
              index, fragment->at(row, j));
      }
  });
  if (!e.ownsRows())
    barrier();
  stagedTile = tile;
  stagedIn = e.builder.getInsertionBlock();
  return success();
}

Value GpuWorkgroup::stagedVec4(int64_t tileColumns, Value row, Value vec4Column) {
  int64_t vec4s = tileColumns / e.width;
  int64_t entries = e.placement.teams * e.placement.ty * e.placement.rows * vec4s;
  return read(SharedArray::Tile, e.vec4Type(), entries, stagedPlace(vec4s, row, vec4Column));
}

} // namespace heddle
