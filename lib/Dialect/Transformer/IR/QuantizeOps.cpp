//===- QuantizeOps.cpp - Quantized rows and weights -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers and inferred types of `quantize`, and the constraints on scales of
// `weight` and `linear`.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "ShapeChecks.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using heddle::DType;
using heddle::NumberFormat;
using namespace heddle::transformer;
using namespace heddle::transformer::detail;

//===- quantize ----------------------------------------------------------===//

LogicalResult QuantizeOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Value input = adaptor.getInput();
  types.push_back(typeOf(input).clone(IntegerType::get(context, 8)));
  types.push_back(withFeatures(input, 1));
  return success();
}

LogicalResult QuantizeOp::verify() {
  Operation *op = *this;
  RankedTensorType type = typeOf(getInput());
  int64_t last = type.getRank() - 1, found = typeOf(getScales()).getShape().back();
  DType codes = dtypeOf(getCodes().getType());
  auto scalesOf = [&](const NumberFormat &format) {
    return format.rows == codes ? format.rowScales(features(getInput())) : 0;
  };
  bool isKnown = llvm::any_of(
      heddle::numberFormats, [&](const NumberFormat &format) { return scalesOf(format) == found; });
  RankedTensorType scales =
      withFeatures(getInput(), isKnown ? found : scalesOf(formatOfRows(codes)));
  return inOrder(
      [&] { return verifyShape(op, "C1", "codes", getCodes(), type.getShape(), {last}); },
      [&] { return verifyShape(op, "C2", "scales", getScales(), scales.getShape(), {last}); });
}

int64_t QuantizeOp::getScaleGroup() {
  return heddle::scaleGroupOf(features(getInput()), typeOf(getScales()).getShape().back());
}

bool QuantizeOp::isCompatibleReturnTypes(TypeRange, TypeRange) {
  return true; // the verifier reports the wrong dimension
}

//===- cache.quantize ----------------------------------------------------===//

LogicalResult CacheQuantizeOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType rows = typeOf(adaptor.getRows());
  types.push_back(rows.clone(IntegerType::get(context, 8)));
  types.push_back(RankedTensorType::get(rows.getShape().drop_back(), Float32Type::get(context)));
  return success();
}

bool CacheQuantizeOp::isCompatibleReturnTypes(TypeRange, TypeRange) {
  return true; // the verifier reports the wrong dimension
}

LogicalResult CacheQuantizeOp::verify() {
  ArrayRef<int64_t> rows = typeOf(getRows()).getShape();
  return inOrder(
      [&] { return verifyShape(*this, "C1", "codes", getCodes(), rows, {1, 3}); },
      [&] { return verifyShape(*this, "C2", "scales", getScales(), rows.drop_back(), {1}); });
}

void CacheQuantizeOp::inferShapes(SymbolicShapes &shapes) {
  Shape rows = shapes.of(getRows());
  shapes.set(getCodes(), rows);
  rows.pop_back();
  shapes.set(getScales(), std::move(rows));
}

//===- weight, linear ----------------------------------------------------===//

LogicalResult heddle::transformer::detail::verifyScales(WeightOp op) {
  RankedTensorType type = typeOf(op.getResult());
  if (type.getRank() != 2 || type.getDimSize(0) != 2 || type.getDimSize(1) < 1 ||
      !type.getElementType().isF32())
    return op.emitOpError("C4: expected scales of [2, N] f32, found ") << type;
  std::optional<ArrayRef<int64_t>> stored = op.getStored();
  if (!stored)
    return op.emitOpError("C4: expected stored, the shape of the matrix in the checkpoint, with "
                          "scales, found none");
  bool possible = llvm::all_of(*stored, [](int64_t size) { return size >= 0; });
  if (!possible || ShapedType::getNumElements(*stored) % type.getDimSize(1) != 0)
    return op.emitOpError("C3: expected stored to hold ")
           << type.getDimSize(1) << " rows, found " << shapeText(*stored);
  return success();
}

/// Largest number of features for which a sum of products of codes fits an i32: 127 * 127 * 2^17 <
/// 2^31.
static constexpr int64_t mostCodes = int64_t(1) << 17;

const NumberFormat &LinearOp::getFormat() {
  return *findProduct(getInput().getType(), getWeight().getType());
}

LogicalResult heddle::transformer::detail::verifyCodes(LinearOp op) {
  const NumberFormat &format = op.getFormat();
  auto expected = static_cast<size_t>(format.scales);
  if (op.getScales().size() != expected)
    return op.emitOpError("C5: operands of ")
           << typeOf(op.getInput()).getElementType() << " have " << expected << " scales, found "
           << op.getScales().size();
  if (expected == 0)
    return success();
  int64_t columns = features(op.getInput());
  RankedTensorType type = withFeatures(op.getInput(), format.rowScales(columns));
  return inOrder(
      [&] {
        return verifyShape(op, "C5", "the scales of input", op.getInputScales(), type.getShape(),
                           {type.getRank() - 1});
      },
      [&] {
        return expected == 2 ? verifyShape(op, "C5", "the scales of weight", op.getWeightScales(),
                                           {2, dim(op.getWeight(), 0)}, {0, 1})
                             : success();
      },
      [&]() -> LogicalResult {
        if (format.sums != DType::I32 || columns <= mostCodes)
          return success();
        return op.emitOpError("C6: expected at most ")
               << mostCodes << " features of i8, found " << columns;
      });
}
