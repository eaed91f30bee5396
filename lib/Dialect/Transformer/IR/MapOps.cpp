//===- MapOps.cpp - Feature maps of images --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers and symbolic shapes of ops over feature maps. Heights and widths
// are expressions over the dimensions of the image.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "ShapeChecks.h"

#include <cmath>

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using namespace heddle::transformer::detail;

static LogicalResult verifyStatic(Operation *op, StringRef what, int64_t size) {
  if (size > 0)
    return success();
  return op->emitOpError("C1: expected static ")
         << what << " of map, found " << (ShapedType::isDynamic(size) ? "dynamic ones" : "none");
}

static LogicalResult verifyGrid(Operation *op, WindowGrid grid, int64_t mostPadding) {
  if (grid.size > 0 && grid.stride > 0 && grid.padding >= 0 && grid.padding <= mostPadding)
    return success();
  return op->emitOpError("C2: expected a positive size and stride, and a padding from 0 to ")
         << mostPadding << ", found " << grid.size << ", " << grid.stride << " and "
         << grid.padding;
}

/// Symbolic shape of windows: `map` is the shape of the map, with the channels last.
static Shape shapeOfWindows(SymbolicShapes &shapes, Shape map, WindowGrid grid, int64_t features) {
  for (size_t d : {1, 2}) {
    SizeExpr room = map[d] + 2 * grid.padding;
    shapes.requireAtMost(grid.size, room, "the size of a window and the padded map");
    map[d] = SizeExpr::floorDiv(room - grid.size, grid.stride) + 1;
  }
  map[3] = features;
  return map;
}

//===- windows, max_pool -------------------------------------------------===//

LogicalResult WindowsOp::verify() {
  Operation *op = *this;
  const WindowGrid grid(getSize(), getStride(), getPadding());
  return inOrder(
      [&] { return verifyStatic(op, "channels", dim(getMap(), getChannelsFirst() ? 1 : 3)); },
      [&] { return verifyGrid(op, grid, grid.size - 1); },
      [&] {
        return verifyShape(op, "C3", "the result", getResult(),
                           windowsShape(getMap(), grid, getChannelsFirst(), /*folds=*/false), {3});
      });
}

void WindowsOp::inferShapes(SymbolicShapes &shapes) {
  Shape map = shapes.of(getMap());
  if (getChannelsFirst())
    map = {map[0], map[2], map[3], map[1]};
  shapes.set(getResult(),
             shapeOfWindows(shapes, std::move(map), {getSize(), getStride(), getPadding()},
                            features(getResult())));
}

LogicalResult MaxPoolOp::verify() {
  Operation *op = *this;
  const WindowGrid grid(getSize(), getStride(), getPadding());
  return inOrder([&] { return verifyStatic(op, "features", features(getMap())); },
                 [&] { return verifyGrid(op, grid, grid.size / 2); },
                 [&] {
                   return verifyShape(op, "C3", "the result", getResult(),
                                      windowsShape(getMap(), grid, /*channelsFirst=*/false,
                                                   /*folds=*/true),
                                      {3});
                 });
}

void MaxPoolOp::inferShapes(SymbolicShapes &shapes) {
  shapes.set(getResult(),
             shapeOfWindows(shapes, shapes.of(getMap()), {getSize(), getStride(), getPadding()},
                            features(getResult())));
}

//===- map_rows, slice_rows, repeat_rows ---------------------------------===//

/// Sets the shape of one row for each place of a map.
static void inferPlaces(Value result, Value map, SymbolicShapes &shapes) {
  const Shape &of = shapes.of(map);
  shapes.set(result, Shape{of[0], of[1] * of[2], features(result)});
}

LogicalResult MapRowsOp::verify() {
  Operation *op = *this;
  return inOrder([&] { return verifyStatic(op, "features", features(getMap())); },
                 [&] {
                   return verifyShape(op, "C2", "the result", getResult(),
                                      placesShape(getMap(), features(getMap())), {2});
                 });
}

void MapRowsOp::inferShapes(SymbolicShapes &shapes) { inferPlaces(getResult(), getMap(), shapes); }

LogicalResult SliceRowsOp::verify() {
  auto first = static_cast<int64_t>(getFirst()), count = static_cast<int64_t>(getCount());
  if (int64_t rank = typeOf(getRows()).getRank(); rank != 3)
    return emitOpError("C1: expected rows of rank 3 [batch, rows, features], found rank ") << rank;
  int64_t rows = dim(getRows(), 1);
  if (first < 0 || count <= 0 || (!ShapedType::isDynamic(rows) && first > rows - count))
    return emitOpError("C2: expected a positive count of rows that exist, found ")
           << count << " from " << first;
  return verifyShape(*this, "C3", "the result", getResult(),
                     {dim(getRows(), 0), count, features(getRows())}, {1, 2});
}

void SliceRowsOp::inferShapes(SymbolicShapes &shapes) {
  const Shape &rows = shapes.of(getRows());
  auto first = static_cast<int64_t>(getFirst()), count = static_cast<int64_t>(getCount());
  shapes.requireAtMost(first + count, rows[1], "the rows that are taken and all rows");
  shapes.set(getResult(), Shape{rows[0], count, features(getResult())});
}

LogicalResult RepeatRowsOp::verify() {
  return verifyShape(*this, "C1", "the result", getResult(),
                     {dim(getMap(), 0), dim(getTable(), 0), dim(getTable(), 1)}, {1, 2});
}

void RepeatRowsOp::inferShapes(SymbolicShapes &shapes) {
  Shape shape = staticShape(getResult().getType());
  shape[0] = shapes.of(getMap())[0];
  shapes.set(getResult(), std::move(shape));
}

//===- position.plane, position.resized ----------------------------------===//

LogicalResult PositionPlaneOp::verify() {
  auto count = static_cast<int64_t>(getFeatures());
  if (count <= 0 || count % 4 != 0)
    return emitOpError("C1: expected features as a positive multiple of 4, found ") << count;
  if (double t = getTemperature().convertToDouble(); !(t >= 1) || !std::isfinite(t))
    return emitOpError("C2: expected a finite temperature of at least 1, found ") << t;
  return verifyShape(*this, "C3", "the result", getResult(), placesShape(getMap(), count), {2});
}

void PositionPlaneOp::inferShapes(SymbolicShapes &shapes) {
  inferPlaces(getResult(), getMap(), shapes);
}

LogicalResult PositionResizedOp::verify() {
  auto columns = static_cast<int64_t>(getColumns());
  int64_t rows = dim(getTable(), 0);
  if (columns <= 0 || rows % columns != 0)
    return emitOpError("C1: expected columns that divide the ")
           << rows << " rows of table, found " << columns;
  return verifyShape(*this, "C2", "the result", getResult(),
                     placesShape(getMap(), dim(getTable(), 1)), {2});
}

void PositionResizedOp::inferShapes(SymbolicShapes &shapes) {
  inferPlaces(getResult(), getMap(), shapes);
}
