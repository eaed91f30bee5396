//===- ContractOps.cpp - Products of tiled bodies -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats and verifiers of products. Each error names a constraint of the op's
// description.

#include "Verifiers.h"

#include "heddle/Dialect/ElementFormats.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===- Shared by all products --------------------------------------------===//

static Type elementOf(Value side) {
  auto view = dyn_cast<ViewType>(side.getType());
  return view ? view.getElementType() : getElementTypeOrSelf(side.getType());
}

bool kernel::detail::isWeight(Value view) {
  auto argument = dyn_cast<BlockArgument>(view);
  auto kernel = argument ? dyn_cast<FuncOp>(argument.getOwner()->getParentOp()) : FuncOp();
  return kernel && kernel.isWeight(argument.getArgNumber());
}

const NumberFormat *kernel::detail::findFormat(Value left, Value right) {
  std::optional<DType> rows = findDType(elementOf(left)), weights = findDType(elementOf(right));
  return rows && weights ? findKeptProduct(*rows, *weights) : nullptr;
}

bool kernel::detail::convertsRight(const NumberFormat &format, Value right) {
  return format.weights != dtypeOf(elementOf(right));
}

/// Checks that the operands are views of the same features, with the right view in panels.
static LogicalResult verifyFeatures(ProductOpInterface op, StringRef rule) {
  ViewType lhs = viewOf(op.getLhs()), rhs = viewOf(op.getRhs());
  if (lhs.getRank() != 2 || lhs.getPanel())
    return op.emitOpError() << rule << ": expected a row-major view of rank 2 on the left, found "
                            << lhs;
  if (rhs.getRank() != 2 || !rhs.getPanel())
    return op.emitOpError() << rule << ": expected a view of rank 2 in panels on the right, found "
                            << rhs;
  if (!(lhs.getDims().back() == rhs.getDims().back()))
    return op.emitOpError() << rule << ": expected equal last dimensions, found " << lhs << " and "
                            << rhs;
  return success();
}

/// Checks that the operands have a format. `suits` selects the formats of the op, which `kind`
/// names.
static LogicalResult verifyFormat(ProductOpInterface op, StringRef rule, StringRef kind,
                                  function_ref<bool(const NumberFormat &)> suits) {
  const NumberFormat *format = op.findFormat();
  if (format && suits(*format))
    return success();
  return op.emitOpError() << rule << ": expected the rows and weights of a number format" << kind
                          << ", found " << elementOf(op.getLhs()) << " and "
                          << elementOf(op.getRhs());
}

/// Checks that `kept` is present if and only if codes are converted.
static LogicalResult verifyKept(ProductOpInterface op, StringRef rule) {
  Type right = elementOf(op.getRhs());
  const bool convertsCodes = op.convertsRight() && heddle::formatOf(right).isCode();
  if (convertsCodes == static_cast<bool>(op.getKeptScales()))
    return success();
  return op.emitOpError()
         << rule << ": expected `kept` with codes of i8 that are converted, and only with them, "
         << "found " << right;
}

static LogicalResult verifySums(ProductOpInterface op, StringRef rule) {
  return verifyElement(op, rule, op.getType(), mlirTypeOf(op.getFormat().sums, op.getContext()));
}

/// Checks the tiles of a range, which are counted along the columns of `tile`.
static LogicalResult verifyRange(ProductOpInterface op, StringRef rule, RankedTensorType tile) {
  RowRange range = op.getRange();
  if (static_cast<bool>(range.visited) != (range.visitTile != 0))
    return op.emitOpError() << rule
                            << ": expected `tiles` to name both the bits and the columns of a tile";
  return range.visited ? verifyVisitTile(op, rule, range.visitTile, tile) : success();
}

//===- The ops -----------------------------------------------------------===//

LogicalResult ContractOp::verify() {
  auto suits = [](const NumberFormat &format) { return !format.sumsGroups(); };
  if (failed(verifyFeatures(*this, "C1")) ||
      failed(verifyFormat(*this, "C2", " whose scales do not enter the sums", suits)) ||
      failed(verifyKept(*this, "C3")) || failed(verifySums(*this, "C4")))
    return failure();
  if (getCentered() && getFormat().sums != DType::I32)
    return emitOpError() << "C6: expected products of i8 to be centered, found "
                         << getLhs().getType().getElementType() << " and "
                         << getRhs().getType().getElementType();
  return verifyRange(*this, "C5", getType());
}

LogicalResult ContractRowsOp::verify() {
  ViewType rhs = getRhs().getType();
  if (rhs.getRank() != 2 || rhs.getPanel())
    return emitOpError() << "C1: expected a row-major view of rank 2 on the right, found " << rhs;
  auto suits = [](const NumberFormat &format) { return format.scales == 0; };
  if (failed(verifyRows(*this, "C2", getType(), getLhs().getType().getDimSize(0))) ||
      failed(verifyFormat(*this, "C3", " without scales", suits)) ||
      failed(verifyKept(*this, "C4")) || failed(verifySums(*this, "C5")))
    return failure();
  return verifyRange(*this, "C6", getLhs().getType());
}

LogicalResult ContractCommonOp::verify() {
  for (ViewType view : {getLhs().getType(), getRhs().getType()})
    if (view.getRank() != 2 || view.getPanel() || view.getStrip() || !view.getElementType().isF32())
      return emitOpError() << "C1: expected row-major views of rank 2 and f32, found " << view;
  return verifySums(*this, "C2");
}

LogicalResult ContractGroupsOp::verify() {
  auto suits = [](const NumberFormat &format) { return format.sumsGroups(); };
  if (failed(verifyFeatures(*this, "C1")) ||
      failed(verifyFormat(*this, "C2", " whose scales enter the sums", suits)))
    return failure();
  ViewType left = getLhs().getType(), given = getScales().getType();
  const Size &features = left.getDims().back().extent;
  if (given.getRank() != 2 || given.getPanel() || !given.getElementType().isF32() ||
      !(given.getDim(0) == left.getDim(0)) || !features.isStatic() ||
      !(given.getDim(1).extent == Size(getFormat().rowScales(features.value))))
    return emitOpError() << "C3: expected scales of f32 for the rows of " << left << ", found "
                         << given;
  return verifySums(*this, "C4");
}
