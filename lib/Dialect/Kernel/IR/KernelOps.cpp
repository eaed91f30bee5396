//===- KernelOps.cpp - Ops of the tiled body -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the ops in a tiled body. Each error names a constraint of the
// op's description.

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "heddle/Dialect/ElementFormats.h"

#include <numeric>

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// Parses the full type of a view, since a bare `<[d0, 64], f32>` is hard to read next to tiles.
static ParseResult parseView(OpAsmParser &parser, Type &type) { return parser.parseType(type); }

static void printView(OpAsmPrinter &printer, Operation *, Type type) { printer << type; }

static ViewType viewOf(Value value) { return cast<ViewType>(value.getType()); }

static LogicalResult verifyElement(Operation *op, StringRef rule, RankedTensorType tile,
                                   Type element) {
  if (tile.getElementType() == element)
    return success();
  return op->emitOpError() << rule << ": expected elements of " << element << ", found "
                           << tile.getElementType();
}

static LogicalResult verifyIndices(Operation *op, StringRef rule, ViewType view, size_t indices) {
  if (static_cast<int64_t>(indices) == view.getRank())
    return success();
  return op->emitOpError() << rule << ": expected one index a dimension: " << view.getRank()
                           << ", found " << indices;
}

static LogicalResult verifyRows(Operation *op, StringRef rule, RankedTensorType tile,
                                int64_t rows) {
  if (tile.getDimSize(0) == rows)
    return success();
  return op->emitOpError() << rule << ": expected " << rows << " rows, found "
                           << tile.getDimSize(0);
}

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

//===- Loads and stores --------------------------------------------------===//

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

Size StoreOp::getViewColumns() {
  ArrayRef<ViewDim> dims = viewOf(getView()).getDims();
  const Size &columns = dims.back().extent;
  return getOverHeads() ? Size(dims[dims.size() - 3].extent.value * columns.value) : columns;
}

int64_t StoreOp::getPieceColumns() {
  if (!getOverHeads() && !getColumns())
    return 0;
  const int64_t columns = getColumns().value_or(viewOf(getView()).getDims().back().extent.value);
  return std::gcd(columns, int64_t{16});
}

/// C5 to C7: tiles whose columns are not all contiguous in memory.
static LogicalResult verifyPieces(StoreOp op) {
  ViewType view = viewOf(op.getView());
  if (!op.getOverHeads() && !op.getColumns())
    return success();
  if (op.getOverHeads() && (view.getRank() != 4 || !view.getDim(1).isStatic()))
    return op.emitOpError() << "C5: expected a view of rank 4 with a static number of heads, found "
                            << view;
  if (op.getColumns() && (view.getPanel() || view.getRank() < 2 || op.getOverHeads() ||
                          op.getPlaces() || op.getRing()))
    return op.emitOpError(
        "C6: expected `columns` with rows of a view, without `over_heads`, `at` and `ring`");
  const Size &all = view.getDims().back().extent;
  const int64_t columns = op.getColumns().value_or(all.value),
                most = op.getTile().getType().getDimSize(1);
  if (!all.isStatic() || columns % 4 != 0 || columns < 4 || most % 16 != 0 ||
      (op.getColumns() && (columns > most || all.value % columns != 0)))
    return op.emitOpError()
           << "C7: expected static columns, a multiple of 4, of a tile of as many or "
              "more, found "
           << columns << " of " << op.getTile().getType() << " in " << view;
  return success();
}

LogicalResult StoreOp::verify() {
  ViewType view = viewOf(getView());
  RankedTensorType tile = getTile().getType();
  if (failed(verifyIndices(*this, "C1", view, getIndices().size())) ||
      failed(verifyElement(*this, "C2", tile, view.getElementType())))
    return failure();
  if (getAsRows() != (view.getRank() == 1))
    return emitOpError("C3: expected `as rows` with vectors, and only with them");
  if (getAsRows() && tile.getDimSize(1) != 1)
    return emitOpError() << "C3: expected a tile of Mx1, found " << tile;
  if (failed(verifyPieces(*this)))
    return failure();
  if (!getPlaces())
    return success();
  RankedTensorType places = getPlaces().getType();
  if (view.getRank() < 3 || !getRows() || getRing())
    return emitOpError(
        "C4: expected `at` with a view of rank 3 or more and `rows`, without `ring`");
  if (places.getDimSize(1) != 1 || !places.getElementType().isSignlessInteger(32))
    return emitOpError() << "C4: expected places of Mx1xi32, found " << places;
  return verifyRows(*this, "C4", tile, places.getDimSize(0));
}

//===- Tiles -------------------------------------------------------------===//

/// C2: features of two views, with the right view in panels.
static LogicalResult verifyFeatures(ContractOp op) {
  auto lhs = dyn_cast<ViewType>(op.getLhs().getType());
  ViewType rhs = viewOf(op.getRhs());
  if (!lhs || lhs.getRank() != 2 || lhs.getPanel())
    return op.emitOpError() << "C2: expected a row-major view of rank 2 on the left, found "
                            << op.getLhs().getType();
  if (rhs.getRank() != 2 || !rhs.getPanel())
    return op.emitOpError() << "C2: expected a view of rank 2 in panels on the right, found "
                            << rhs;
  if (!(lhs.getDims().back() == rhs.getDims().back()))
    return op.emitOpError() << "C2: expected equal last dimensions, found " << lhs << " and "
                            << rhs;
  return success();
}

/// C3 and C5: a tile times the rows of a view.
static LogicalResult verifyOverRows(ContractOp op) {
  auto lhs = dyn_cast<RankedTensorType>(op.getLhs().getType());
  ViewType rhs = viewOf(op.getRhs());
  if (!lhs || rhs.getRank() != 2 || rhs.getPanel())
    return op.emitOpError() << "C3: expected a tile and a row-major view of rank 2, found "
                            << op.getLhs().getType() << " and " << rhs;
  return verifyRows(op, "C5", op.getType(), lhs.getDimSize(0));
}

static Type elementOf(Value side) {
  auto view = dyn_cast<ViewType>(side.getType());
  return view ? view.getElementType() : getElementTypeOrSelf(side.getType());
}

bool ContractOp::readsWeights() {
  auto argument = dyn_cast<BlockArgument>(getRhs());
  auto kernel = (*this)->getParentOfType<FuncOp>();
  return argument && kernel && kernel.isWeight(argument.getArgNumber());
}

const heddle::NumberFormat *ContractOp::findFormat() {
  std::optional<DType> left = findDType(elementOf(getLhs())),
                       right = findDType(elementOf(getRhs()));
  return left && right ? findKeptProduct(*left, *right) : nullptr;
}

bool ContractOp::convertsRight() { return getFormat().weights != dtypeOf(elementOf(getRhs())); }

/// C7: the operands have the element types of a number format, and the result has its sum type.
static LogicalResult verifyElements(ContractOp op) {
  Type left = elementOf(op.getLhs()), right = elementOf(op.getRhs());
  const NumberFormat *format = op.findFormat();
  if (!format)
    return op.emitOpError("C7: expected the rows and weights of a number format, found ")
           << left << " and " << right;
  if ((op.convertsRight() && heddle::formatOf(right).isCode()) !=
      static_cast<bool>(op.getKeptScales()))
    return op.emitOpError(
               "C7: expected `kept` beside codes of i8 that become numbers, and only beside "
               "them, found ")
           << right;
  if (format->scales && op.getRows())
    return op.emitOpError("C7: expected a format without scales with `over rows`, found ") << left;
  return verifyElement(op, "C7", op.getType(), mlirTypeOf(format->sums, op.getContext()));
}

/// C6 of contract, C2 of mask: column tiles divide the tile, and their bits fit an i32.
static LogicalResult verifyVisitTile(Operation *op, StringRef constraint, int64_t visit,
                                     Type tile) {
  int64_t columns = cast<RankedTensorType>(tile).getDimSize(1);
  if (visit <= 0 || columns % visit != 0 || columns / visit > 32)
    return op->emitOpError() << constraint << ": expected column tiles that divide " << columns
                             << " columns into at most 32, found " << visit;
  return success();
}

LogicalResult ContractOp::verify() {
  if (isa<ViewType>(getLhs().getType()) != static_cast<bool>(getLhsIndex()))
    return emitOpError("C1: expected an index with a view on the left, and only with one");
  if (getGuarded() && !getRows())
    return emitOpError("C4: expected `guarded` only with `over rows`");
  if (failed(getRows() ? verifyOverRows(*this) : verifyFeatures(*this)))
    return failure();
  if (static_cast<bool>(getVisited()) != getVisitTile().has_value())
    return emitOpError("C6: expected `tiles` to name both the bits and the columns of a tile");
  Type cut = getRows() ? getLhs().getType() : Type(getType());
  if (getVisitTile() && failed(verifyVisitTile(*this, "C6", *getVisitTile(), cut)))
    return failure();
  return verifyElements(*this);
}

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

LogicalResult BroadcastOp::verify() {
  Type element = getElementTypeOrSelf(getOperand().getType());
  if (failed(verifyElement(*this, "C2", getType(), element)))
    return failure();
  auto from = dyn_cast<RankedTensorType>(getOperand().getType());
  for (int dim : {0, 1})
    if (from && from.getDimSize(dim) != 1 && from.getDimSize(dim) != getType().getDimSize(dim))
      return emitOpError() << "C1: expected dimension " << dim << " to be 1 or "
                           << getType().getDimSize(dim) << ", found " << from.getDimSize(dim);
  return success();
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

#define GET_OP_CLASSES
#include "heddle/Dialect/Kernel/IR/KernelOps.cpp.inc"
