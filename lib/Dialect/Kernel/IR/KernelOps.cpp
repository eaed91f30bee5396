//===- KernelOps.cpp - Ops of the tiled body -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the ops in a tiled body. Each error names a constraint of the
// op's description.

#include "Verifiers.h"

#include "heddle/Dialect/ElementFormats.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// Parses the full type of a view, since a bare `<[d0, 64], f32>` is hard to read next to tiles.
static ParseResult parseView(OpAsmParser &parser, Type &type) { return parser.parseType(type); }

static void printView(OpAsmPrinter &printer, Operation *, Type type) { printer << type; }

//===- Scalars and views -------------------------------------------------===//

LogicalResult ScalarOp::verify() {
  auto func = (*this)->getParentOfType<FuncOp>();
  if (func && func.getScalarIndex(getName()) < 0)
    return emitOpError() << "C1: expected a scalar of the kernel, found " << getName();
  return success();
}

void SliceOp::build(OpBuilder &builder, OperationState &state, Value view, ValueRange indices) {
  build(builder, state, viewOf(view).dropLeading(indices.size()), view, indices);
}

LogicalResult SliceOp::verify() {
  ViewType view = viewOf(getView());
  int64_t points = getIndices().size();
  if (points >= view.getRank())
    return emitOpError() << "C1: expected fewer indices than dimensions: " << view.getRank()
                         << ", found " << points;
  if (getType() != view.dropLeading(points))
    return emitOpError() << "C2: expected " << view.dropLeading(points) << ", found " << getType();
  return success();
}

LogicalResult ExtentOp::verify() {
  int64_t rank = viewOf(getView()).getRank(), dim = getDim();
  if (dim < 0 || dim >= rank)
    return emitOpError() << "C1: expected a dimension below " << rank << ", found " << dim;
  return success();
}

void ReadOp::build(OpBuilder &builder, OperationState &state, Value view, ValueRange indices) {
  build(builder, state, viewOf(view).getElementType(), view, indices);
}

LogicalResult ReadOp::verify() {
  ViewType view = viewOf(getView());
  if (getType() != view.getElementType())
    return emitOpError() << "C2: expected " << view.getElementType() << ", found " << getType();
  return verifyIndices(*this, "C1", view, getIndices().size());
}

//===- Loads -------------------------------------------------------------===//

LogicalResult LoadOp::verify() {
  ViewType view = viewOf(getView());
  if (failed(verifyIndices(*this, "C1", view, getIndices().size())) ||
      failed(verifyElement(*this, "C2", getType(), view.getElementType())))
    return failure();
  if (view.getPanel())
    return emitOpError("C4: expected a row-major view, found one in panels");
  if (view.getRank() != 1 && getAsRows())
    return emitOpError("C3: expected `as rows` on a vector only");
  if (view.getRank() == 1 && getType().getDimSize(getAsRows() ? 1 : 0) != 1)
    return emitOpError() << "C3: expected a tile of " << (getAsRows() ? "Mx1" : "1xN") << ", found "
                         << getType();
  return success();
}

LogicalResult GatherOp::verify() {
  ViewType view = viewOf(getView());
  if (view.getRank() != 2 || view.holdsIndices())
    return emitOpError() << "C1: expected a table of rank 2, found " << view;
  if (!view.getPanel() && formatOf(view.getElementType()).isNarrow())
    return emitOpError() << "C1: expected a narrow table in panels, found " << view;
  RankedTensorType rows = getRows().getType();
  if (rows.getDimSize(1) != 1 || !rows.getElementType().isSignlessInteger(32))
    return emitOpError() << "C2: expected rows of Mx1xi32, found " << rows;
  if (failed(verifyRows(*this, "C2", getType(), rows.getDimSize(0))))
    return failure();
  return verifyElement(*this, "C3", getType(), Float32Type::get(getContext()));
}

//===- Tiles -------------------------------------------------------------===//

LogicalResult MaskOp::verify() {
  auto yield = dyn_cast<MaskYieldOp>(getPredicate().front().getTerminator());
  auto expected = RankedTensorType::get(getType().getShape(), IntegerType::get(getContext(), 1));
  if (!yield || yield.getTruth().getType() != expected)
    return emitOpError() << "C1: expected the region to yield " << expected;
  return verifyVisitTile(*this, "C2", getVisitTile(), getType());
}

LogicalResult LookupOp::verify() {
  ViewType view = viewOf(getView());
  if (view.getRank() > 2 || getIndices().size() != static_cast<size_t>(view.getRank()))
    return emitOpError() << "C1: expected an index for each of at most two dimensions, found "
                         << getIndices().size() << " for " << view;
  auto expected = RankedTensorType::get(getType().getShape(), IntegerType::get(getContext(), 32));
  for (Value index : getIndices())
    if (index.getType() != expected)
      return emitOpError() << "C1: expected indices " << expected << ", found " << index.getType();
  if (view.getPanel())
    return emitOpError() << "C3: expected a row-major view, found " << view;
  return verifyElement(*this, "C2", getType(), view.getElementType());
}

LogicalResult TableRangeOp::verify() {
  ViewType view = viewOf(getView());
  if (view.getRank() != 1 || !view.getElementType().isInteger(32))
    return emitOpError() << "C1: expected a vector of i32, found " << view;
  return success();
}

/// Verifies that each dimension of a tile is 1 or the dimension of `result`.
static LogicalResult verifyBroadcast(Operation *op, StringRef constraint, Type operand,
                                     RankedTensorType result) {
  auto from = dyn_cast<RankedTensorType>(operand);
  for (int dim : {0, 1})
    if (from && from.getDimSize(dim) != 1 && from.getDimSize(dim) != result.getDimSize(dim))
      return op->emitOpError() << constraint << ": expected dimension " << dim << " to be 1 or "
                               << result.getDimSize(dim) << ", found " << from.getDimSize(dim);
  return success();
}

LogicalResult BroadcastOp::verify() {
  Type element = getElementTypeOrSelf(getOperand().getType());
  if (failed(verifyElement(*this, "C2", getType(), element)))
    return failure();
  return verifyBroadcast(*this, "C1", getOperand().getType(), getType());
}

LogicalResult ReduceOp::verify() {
  RankedTensorType from = getOperand().getType();
  auto expected = RankedTensorType::get({from.getDimSize(0), 1}, from.getElementType());
  if (getType() != expected)
    return emitOpError() << "C1: expected " << expected << ", found " << getType();
  return success();
}

LogicalResult ScalebOp::verify() {
  if (!getElementTypeOrSelf(getType()).isF32())
    return emitOpError() << "C1: expected elements of f32, found " << getType();
  return success();
}

LogicalResult IotaOp::verify() {
  return verifyElement(*this, "C1", getType(), IntegerType::get(getContext(), 32));
}

LogicalResult RandomWordsOp::verify() {
  const Type i32 = IntegerType::get(getContext(), 32);
  if (failed(verifyElement(*this, "C1", getType(), i32)))
    return failure();
  for (Type type : {getColumn().getType(), getPosition().getType(), getExample().getType()}) {
    if (getElementTypeOrSelf(type) != i32)
      return emitOpError() << "C1: expected counters of i32, found " << type;
    if (failed(verifyBroadcast(*this, "C2", type, getType())))
      return failure();
  }
  return success();
}

#include "heddle/Dialect/Kernel/IR/KernelInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "heddle/Dialect/Kernel/IR/KernelOps.cpp.inc"
