//===- StoreOps.cpp - Stores of tiles -------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns and verifiers of stores. Each error names a constraint of the op's
// description.

#include "Verifiers.h"

#include <numeric>

using namespace mlir;
using namespace heddle::kernel;

/// Each vector of a tile has at most this number of columns.
static constexpr int64_t vectorColumns = 16;

Size heddle::kernel::detail::columnsOfHeads(ViewType view) {
  return view.getDim(view.getRank() - 3).extent.value * view.getDims().back().extent.value;
}

int64_t heddle::kernel::detail::piecesOfHeads(ViewType view) {
  return std::gcd(view.getDims().back().extent.value, vectorColumns);
}

int64_t StoreColumnsOp::getPieceColumns() {
  return std::gcd(static_cast<int64_t>(getColumns()), vectorColumns);
}

/// C1 and C2 of all stores to matrices: the view has at least `rank` dimensions with one index
/// each, and the tile has its elements.
static LogicalResult verifyMatrix(StoreOpInterface op, int64_t rank) {
  ViewType view = viewOf(op.getView());
  if (view.getRank() < rank)
    return op.emitOpError() << "C1: expected a view of rank " << rank << " or more, found " << view;
  if (failed(verifyIndices(op, "C1", view, op.getIndices().size())))
    return failure();
  return verifyElement(op, "C2", op.getTile().getType(), view.getElementType());
}

static LogicalResult verifyHeads(StoreOpInterface op, StringRef ofView, StringRef ofColumns) {
  ViewType view = viewOf(op.getView());
  RankedTensorType tile = op.getTile().getType();
  if (view.getRank() != 4 || !view.getDim(1).isStatic())
    return op.emitOpError() << ofView
                            << ": expected a view of rank 4 with a static number of heads, found "
                            << view;
  const Size &columns = view.getDims().back().extent;
  if (!columns.isStatic() || columns.value % 4 != 0 || tile.getDimSize(1) % vectorColumns != 0)
    return op.emitOpError() << ofColumns << ": expected heads of a multiple of 4 columns, found "
                            << tile << " in " << view;
  return success();
}

LogicalResult StoreOp::verify() { return verifyMatrix(*this, /*rank=*/2); }

LogicalResult StoreVectorOp::verify() {
  ViewType view = getView().getType();
  if (view.getRank() != 1 || getTile().getType().getDimSize(1) != 1)
    return emitOpError() << "C1: expected a tile of Mx1 and a vector, found " << getTile().getType()
                         << " and " << view;
  return verifyElement(*this, "C2", getTile().getType(), view.getElementType());
}

LogicalResult StoreHeadsOp::verify() {
  if (failed(verifyMatrix(*this, /*rank=*/2)))
    return failure();
  return verifyHeads(*this, "C1", "C3");
}

LogicalResult StoreColumnsOp::verify() {
  ViewType view = getView().getType();
  if (view.getPanel())
    return emitOpError() << "C1: expected a row-major view, found " << view;
  if (failed(verifyMatrix(*this, /*rank=*/2)))
    return failure();
  const Size &all = view.getDims().back().extent;
  const int64_t columns = getColumns(), most = getTile().getType().getDimSize(1);
  if (!all.isStatic() || columns % 4 != 0 || columns < 4 || most % vectorColumns != 0 ||
      columns > most || all.value % columns != 0)
    return emitOpError() << "C3: expected a multiple of 4 columns that divides the columns of "
                         << view << " and is at most the columns of " << getTile().getType()
                         << ", found " << columns;
  return success();
}

LogicalResult ScatterOp::verify() {
  RankedTensorType tile = getTile().getType(), places = getPlaces().getType();
  if (failed(verifyMatrix(*this, /*rank=*/3)))
    return failure();
  if (places.getDimSize(1) != 1 || !places.getElementType().isSignlessInteger(32))
    return emitOpError() << "C3: expected places of Mx1xi32, found " << places;
  if (failed(verifyRows(*this, "C3", tile, places.getDimSize(0))))
    return failure();
  return getOverHeads() ? verifyHeads(*this, "C4", "C4") : success();
}
