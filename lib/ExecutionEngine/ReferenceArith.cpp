//===- ReferenceArith.cpp - Constants and elementwise ops -----------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What models use of `arith` and `tensor` beside the language: sums of tensors,
// constants, sizes. An op that is not listed is an error, never skipped.
//
//===----------------------------------------------------------------------===//

#include "ReferenceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <optional>

using namespace mlir;

namespace heddle::reference {

std::optional<DType> elementType(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    type = shaped.getElementType();
  if (type.isF32())
    return DType::F32;
  if (type.isBF16())
    return DType::BF16;
  if (type.isInteger(8))
    return DType::I8;
  if (type.isF16())
    return DType::F16;
  if (type.isInteger(4))
    return DType::I4;
  if (type.isInteger(1))
    return DType::Bool;
  if (type.isInteger(32))
    return DType::I32;
  if (type.isInteger(64) || type.isIndex())
    return DType::I64;
  return std::nullopt;
}

static double asDouble(const APInt &value) {
  return value.getBitWidth() == 1 ? static_cast<double>(value.getZExtValue())
                                  : static_cast<double>(value.getSExtValue());
}

static Expected<RefTensor> constant(arith::ConstantOp op) {
  std::optional<DType> type = elementType(op.getType());
  if (!type)
    return errorAt(op, "expected f32, i1, i32, i64 or index");
  RefTensor result{*type, {}, {}};
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    result.values = {number.getValueAsDouble()};
  else if (auto integer = dyn_cast<IntegerAttr>(op.getValue()))
    result.values = {asDouble(integer.getValue())};
  else if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue())) {
    result.shape = dense.getType().getShape().vec();
    if (*type == DType::F32)
      for (const APFloat &v : dense.getValues<APFloat>())
        result.values.push_back(v.convertToFloat());
    else
      for (const APInt &v : dense.getValues<APInt>())
        result.values.push_back(asDouble(v));
  } else {
    return errorAt(op, "expected a dense constant");
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

using Element = double (*)(const double *x);

static Element floatElement(Operation *op) {
  return llvm::TypeSwitch<Operation *, Element>(op)
      .Case<arith::AddFOp>(
          [](auto) -> Element { return [](const double *x) { return x[0] + x[1]; }; })
      .Case<arith::SubFOp>(
          [](auto) -> Element { return [](const double *x) { return x[0] - x[1]; }; })
      .Case<arith::MulFOp>(
          [](auto) -> Element { return [](const double *x) { return x[0] * x[1]; }; })
      .Case<arith::DivFOp>(
          [](auto) -> Element { return [](const double *x) { return x[0] / x[1]; }; })
      .Case<arith::NegFOp>([](auto) -> Element { return [](const double *x) { return -x[0]; }; })
      .Case<arith::MaximumFOp>([](auto) -> Element {
        return [](const double *x) { return std::isnan(x[0]) || x[0] > x[1] ? x[0] : x[1]; };
      })
      .Case<arith::MinimumFOp>([](auto) -> Element {
        return [](const double *x) { return std::isnan(x[0]) || x[0] < x[1] ? x[0] : x[1]; };
      })
      .Case<arith::SelectOp>(
          [](auto) -> Element { return [](const double *x) { return x[0] != 0 ? x[1] : x[2]; }; })
      .Case<arith::SIToFPOp>([](auto) -> Element { return [](const double *x) { return x[0]; }; })
      .Default([](auto) -> Element { return nullptr; });
}

/// Sums of i32 wrap; wider integers here are sizes, far from their limits.
static double wrap(int64_t x, DType type) {
  return type == DType::I32 ? static_cast<int32_t>(x) : x;
}

using IntegerElement = int64_t (*)(int64_t a, int64_t b);

static IntegerElement integerElement(Operation *op) {
  return llvm::TypeSwitch<Operation *, IntegerElement>(op)
      .Case<arith::AddIOp>(
          [](auto) -> IntegerElement { return [](int64_t a, int64_t b) { return a + b; }; })
      .Case<arith::SubIOp>(
          [](auto) -> IntegerElement { return [](int64_t a, int64_t b) { return a - b; }; })
      .Case<arith::MulIOp>(
          [](auto) -> IntegerElement { return [](int64_t a, int64_t b) { return a * b; }; })
      .Case<arith::MaxSIOp>([](auto) -> IntegerElement {
        return [](int64_t a, int64_t b) { return std::max(a, b); };
      })
      .Case<arith::MinSIOp>([](auto) -> IntegerElement {
        return [](int64_t a, int64_t b) { return std::min(a, b); };
      })
      .Case<arith::AndIOp>(
          [](auto) -> IntegerElement { return [](int64_t a, int64_t b) { return a & b; }; })
      .Case<arith::OrIOp>(
          [](auto) -> IntegerElement { return [](int64_t a, int64_t b) { return a | b; }; })
      .Case<arith::XOrIOp>(
          [](auto) -> IntegerElement { return [](int64_t a, int64_t b) { return a ^ b; }; })
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(
          [](auto) -> IntegerElement { return [](int64_t a, int64_t) { return a; }; })
      .Default([](auto) -> IntegerElement { return nullptr; });
}

static Expected<RefTensor> elementwise(Operation *op, const Lookup &lookup) {
  Element real = floatElement(op);
  IntegerElement whole = integerElement(op);
  std::optional<DType> type = elementType(op->getResult(0).getType());
  if ((!real && !whole) || !type)
    return errorAt(op, "the reference has no meaning for this op");
  std::vector<const RefTensor *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(&lookup(operand));
  const RefTensor &last = *operands.back();
  RefTensor result{*type, last.shape, std::vector<double>(last.values.size())};
  for (const RefTensor *operand : operands) // a select may have a scalar condition
    if (operand->shape != last.shape && !(operand->shape.empty() && isa<arith::SelectOp>(op)))
      return errorAt(op, "expected operands of one shape, found " + shapeText(operand->shape) +
                             " and " + shapeText(last.shape));
  for (int64_t n = 0; n < last.size(); ++n) {
    double x[3] = {};
    for (size_t k = 0; k < operands.size(); ++k)
      x[k] = operands[k]->values[operands[k]->shape.empty() ? 0 : n];
    result.values[n] =
        real ? real(x) : wrap(whole(static_cast<int64_t>(x[0]), static_cast<int64_t>(x[1])), *type);
  }
  return result;
}

Expected<RefTensor> arithmetic(Operation *op, const Lookup &lookup) {
  if (auto made = dyn_cast<arith::ConstantOp>(op))
    return constant(made);
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return lookup(cast.getSource());
  if (auto size = dyn_cast<tensor::DimOp>(op)) {
    const RefTensor &source = lookup(size.getSource());
    int64_t i = static_cast<int64_t>(lookup(size.getIndex()).values[0]);
    if (i < 0 || i >= static_cast<int64_t>(source.shape.size()))
      return errorAt(op, "expected a dimension of " + shapeText(source.shape) + ", found " +
                             std::to_string(i));
    return RefTensor{DType::I64, {}, {static_cast<double>(source.shape[i])}};
  }
  if (auto round = dyn_cast<arith::TruncFOp>(op))
    if (std::optional<DType> type = elementType(round.getType()))
      return roundedTo(*type, lookup(round.getIn()));
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 || op->getNumOperands() > 3)
    return errorAt(op, "the reference has no meaning for this op");
  return elementwise(op, lookup);
}

} // namespace heddle::reference
